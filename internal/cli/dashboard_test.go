package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// heard is written and read at the same time.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

var _ = Describe("kubectl perfrun dashboard", func() {
	It("hands its address to the browser in a file that others cannot read", func() {
		const address = "http://127.0.0.1:1/?key=x"
		path, err := doorTo(address)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(os.Remove, path)
		about, err := os.Stat(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(about.Mode().Perm()).To(BeEquivalentTo(0o600))
		Expect(os.ReadFile(path)).To(ContainSubstring(address))
	})

	It("serves the user's runs at the address that it prints, until it is ended", func(ctx SpecContext) {
		ns := namespace(ctx)
		recorded(ctx, ns, "succeeded.yaml")
		running, stop := context.WithCancel(ctx)
		defer stop()
		root, out, ended := newRoot("test"), &heard{}, make(chan error, 1)
		root.SetOut(out)
		root.SetArgs([]string{"--kubeconfig", kubeconfig, "--namespace", ns, "dashboard"})
		go func() { ended <- root.ExecuteContext(running) }()
		Eventually(out.String, 10*time.Second).Should(ContainSubstring("\n"))
		address, _, _ := strings.Cut(out.String(), "\n")
		Expect(address).To(HavePrefix("http://127.0.0.1:"))

		jar, err := cookiejar.New(nil)
		Expect(err).NotTo(HaveOccurred())
		browser := &http.Client{Jar: jar}
		page := func(address string) string {
			answer, err := browser.Get(address)
			Expect(err).NotTo(HaveOccurred())
			defer func() { _ = answer.Body.Close() }()
			text, err := io.ReadAll(answer.Body)
			Expect(err).NotTo(HaveOccurred())
			return string(text)
		}
		Eventually(func() string { return page(address) }, 10*time.Second).Should(ContainSubstring(`href="/runs/` + ns + `/succeeded"`))
		origin, _, _ := strings.Cut(address, "/?")
		// Its raw data were never in this cluster.
		Expect(page(origin + "/runs/" + ns + "/succeeded")).To(And(ContainSubstring("What Dapr adds to latency"), ContainSubstring("are left out")))
		stop()
		Eventually(ended, 10*time.Second).Should(Receive(BeNil()))
	})
})
