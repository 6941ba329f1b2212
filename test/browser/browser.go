// Package browser drives a headless Chromium and keeps what it has to complain about.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// Browser is a running Chromium.
type Browser struct{ ctx context.Context }

// Start the Chromium that CHROMIUM names, or the one that is installed. stop ends it.
func Start() (b *Browser, stop func(), err error) {
	path, err := find()
	if err != nil {
		return nil, nil, err
	}
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(path), chromedp.DisableGPU}
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, stop := chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(options...))
	if err := chromedp.Do(ctx); err != nil {
		stop()
		return nil, nil, fmt.Errorf("starting %s: %w", path, err)
	}
	return &Browser{ctx}, stop, nil
}

func find() (string, error) {
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range []string{"google-chrome", "google-chrome-stable", "chromium", "chromium-browser"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Chromium is here: hack/browser.sh, which `make test` calls, installs one, or CHROMIUM names one")
}

// Tab of a browser.
type Tab struct {
	ctx context.Context
	// Close the tab.
	Close func()

	mu       sync.Mutex
	problems []string
	requests []string
}

// Tab that is new, with cookies of its own.
func (b *Browser) Tab() (*Tab, error) {
	ctx, stop := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t := &Tab{ctx: ctx, Close: stop}
	if err := chromedp.Do(ctx); err != nil {
		stop()
		return nil, fmt.Errorf("opening a tab: %w", err)
	}
	console, requests := chromedp.Console(ctx), chromedp.Events(ctx, network.RequestWillBeSent)
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		stop()
		return nil, fmt.Errorf("listening to a tab: %w", err)
	}
	go func() {
		for m, err := range console {
			if err == nil {
				t.note(&t.problems, m.String())
			}
		}
	}()
	go func() {
		for r, err := range requests {
			if err == nil {
				t.note(&t.requests, r.Request.URL)
			}
		}
	}()
	return t, nil
}

func (t *Tab) note(where *[]string, what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*where = append(*where, what)
}

// Problems are what was written to the console and what was thrown since the last call.
func (t *Tab) Problems() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.problems
	t.problems = nil
	return all
}

// Elsewhere are the requests so far to addresses that do not begin like this one.
func (t *Tab) Elsewhere(prefix string) (all []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, url := range t.requests {
		if !strings.HasPrefix(url, prefix) {
			all = append(all, url)
		}
	}
	return all
}

// View is how a page is looked at.
type View struct {
	Width, Height int64
	Dark, Print   bool
	// NoScript turns scripts off.
	NoScript bool
}

// Look at pages like this from now on.
func (t *Tab) Look(v View) error {
	media, scheme := "screen", "light"
	if v.Print {
		media = "print"
	}
	if v.Dark {
		scheme = "dark"
	}
	_, size := chromedp.Call(t.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: v.Width, Height: v.Height, DeviceScaleFactor: 1})
	_, script := chromedp.Call(t.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: v.NoScript})
	_, how := chromedp.Call(t.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: media,
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	return errors.Join(size, script, how)
}

// Open a page and wait until it is loaded.
func (t *Tab) Open(url string) error { return chromedp.Do(t.ctx, chromedp.Navigate(url)) }

// Evaluate an expression, or wait for its promise.
func Evaluate[T any](t *Tab, expression string) (T, error) {
	return chromedp.Run(t.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// Keys are typed into what has the focus.
func (t *Tab) Keys(keys string) error { return chromedp.Do(t.ctx, chromedp.KeyEvent(keys)) }

// PNG of what is in view.
func (t *Tab) PNG() ([]byte, error) { return chromedp.Run(t.ctx, chromedp.CaptureScreenshot()) }

// FullPNG is of the whole page.
func (t *Tab) FullPNG() ([]byte, error) { return chromedp.Run(t.ctx, chromedp.FullScreenshot(100)) }

// PDF that the page prints as.
func (t *Tab) PDF() ([]byte, error) { return chromedp.Run(t.ctx, chromedp.PrintToPDF()) }
