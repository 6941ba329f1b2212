// Package build compiles what a cluster is made of from the Go modules that
// the wrapper modules pin, and only what has changed.
package build

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"perfrun.dev/perfrun/hack/cluster/internal/layout"
	"perfrun.dev/perfrun/hack/cluster/internal/proc"
	"perfrun.dev/perfrun/hack/cluster/internal/progress"
	"perfrun.dev/perfrun/hack/cluster/internal/run"
)

// Builder builds into the layout's Bin.
type Builder struct {
	Layout layout.Layout
	Report *progress.Reporter
}

// Run builds each group whose programs are missing or out of date.
func (b Builder) Run(ctx context.Context, groups []Group) error {
	toolchain, err := run.Output(ctx, "go", "env", "GOVERSION")
	if err != nil {
		return fmt.Errorf("asking for Go's version: %w", err)
	}
	fresh := 0
	for _, g := range groups {
		print, err := g.fingerprint(b.Layout.Modules, strings.TrimSpace(toolchain))
		if err != nil {
			return err
		}
		missing := b.missing(g, print)
		if len(missing) == 0 {
			fresh++
			continue
		}
		what := "building " + g.Title
		if g.Estimate != "" {
			what += " (" + g.Estimate + " from an empty cache)"
		}
		err = b.Report.Step(what, func(s *progress.Step) (string, error) {
			begun := time.Now()
			if err := b.group(ctx, g, missing, print, s); err != nil {
				return "", err
			}
			return fmt.Sprintf("built %s in %s", g.Title, progress.Duration(time.Since(begun))), nil
		})
		if err != nil {
			return err
		}
	}
	if fresh == len(groups) {
		b.Report.Say("programs are built and up to date")
	}
	return nil
}

func (b Builder) missing(g Group, print string) []Program {
	var missing []Program
	for _, p := range g.Programs {
		if !fresh(b.stamp(p), b.Layout.Bin(p.Name), print) {
			missing = append(missing, p)
		}
	}
	return missing
}

func (b Builder) stamp(p Program) string { return b.Layout.Bin(".stamps", p.Name) }

// group builds into a folder aside and then renames, so that a program is
// there whole or not at all, and one that runs keeps its file.
func (b Builder) group(ctx context.Context, g Group, programs []Program, print string, s *progress.Step) error {
	if err := os.MkdirAll(b.Layout.Bin(".stamps"), 0o755); err != nil {
		return fmt.Errorf("making folder for programs: %w", err)
	}
	if err := b.sweep(); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(b.Layout.Bin(), building+"*")
	if err != nil {
		return fmt.Errorf("making folder for programs: %w", err)
	}
	defer func() { _ = os.RemoveAll(tmp) }() // what stays is swept by the next build
	if err := b.compile(ctx, g, programs, tmp, s); err != nil {
		return err
	}
	for _, p := range programs {
		target := b.Layout.Bin(p.Name)
		if err := os.Rename(filepath.Join(tmp, p.output()), target); err != nil {
			return fmt.Errorf("installing program: %w", err)
		}
		if err := writeStamp(b.stamp(p), target, print); err != nil {
			return err
		}
	}
	return nil
}

func (b Builder) compile(ctx context.Context, g Group, programs []Program, out string, s *progress.Step) error {
	args := append([]string{"build"}, g.flags()...)
	args = append(args, "-o", out+"/")
	for _, p := range programs {
		args = append(args, p.Package)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(b.Layout.Modules, g.Module)
	cmd.Env = environment()
	// An interrupted compiler cleans up after itself, a killed one does not.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 20 * time.Second
	if err := os.MkdirAll(b.Layout.Logs(), 0o755); err != nil {
		return fmt.Errorf("making log folder: %w", err)
	}
	logFile := b.Layout.Logs("build-" + g.Name + ".log")
	log, err := os.Create(logFile)
	if err != nil {
		return fmt.Errorf("opening log: %w", err)
	}
	cmd.Stderr = io.MultiWriter(log, &counter{step: s})
	err = errors.Join(cmd.Run(), log.Close())
	if ctx.Err() != nil {
		return fmt.Errorf("building %s: interrupted; what was compiled is kept", g.Title)
	}
	if err != nil {
		return fmt.Errorf("building %s: %w\n%s", g.Title, err, proc.Tail(logFile, 20))
	}
	return nil
}

// environment leaves the module and build caches and the proxy as they are and
// fixes what would change the result.
func environment() []string {
	env := os.Environ()
	return append(env, "GO111MODULE=on", "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0",
		"GOOS=linux", "GOARCH="+runtime.GOARCH)
}

// counter turns what `go build -v` says, a line per package and per module,
// into a word about how far it is.
type counter struct {
	step                 *progress.Step
	rest                 []byte
	packages, downloaded int
}

func (c *counter) Write(p []byte) (int, error) {
	c.rest = append(c.rest, p...)
	s := bufio.NewScanner(bytes.NewReader(c.rest))
	for s.Scan() {
		if strings.HasPrefix(s.Text(), "go: downloading") {
			c.downloaded++
		} else {
			c.packages++
		}
	}
	if i := bytes.LastIndexByte(c.rest, '\n'); i >= 0 {
		c.rest = c.rest[i+1:]
	}
	if c.packages > 0 {
		c.step.Detail("%d packages compiled", c.packages)
	} else {
		c.step.Detail("%d modules downloaded", c.downloaded)
	}
	return len(p), nil
}

// Remove deletes what Run built, and nothing else that may lie beside it.
func (b Builder) Remove(groups []Group) error {
	for _, g := range groups {
		for _, p := range g.Programs {
			if err := os.RemoveAll(b.Layout.Bin(p.Name)); err != nil {
				return fmt.Errorf("removing program: %w", err)
			}
		}
	}
	if err := os.RemoveAll(b.Layout.Bin(".stamps")); err != nil {
		return fmt.Errorf("removing programs: %w", err)
	}
	return b.sweep()
}

const building = ".building-"

// sweep removes what a build that was killed has left. No other can be running,
// because of the lock.
func (b Builder) sweep() error {
	leftovers, err := filepath.Glob(b.Layout.Bin(building + "*"))
	for _, dir := range leftovers {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	if err != nil {
		return fmt.Errorf("removing an unfinished build: %w", err)
	}
	return nil
}

// Built tells whether every program is there, up to date or not; one that is
// only out of date takes little to build again.
func (b Builder) Built(groups []Group) bool {
	for _, g := range groups {
		for _, p := range g.Programs {
			if _, err := os.Stat(b.Layout.Bin(p.Name)); err != nil {
				return false
			}
		}
	}
	return true
}
