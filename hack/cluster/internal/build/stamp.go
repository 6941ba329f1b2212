package build

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"perfrun.dev/perfrun/hack/cluster/internal/files"
)

// flags are the arguments of go build that shape the result.
func (g Group) flags() []string {
	ld := []string{"-s", "-w"} // no symbols: half the size, and nobody debugs these
	for _, name := range slices.Sorted(maps.Keys(g.Vars)) {
		ld = append(ld, "-X="+name+"="+g.Vars[name])
	}
	return []string{
		"-v",              // one line per package, to count
		"-mod=readonly",   // go.mod and go.sum are the pin
		"-buildvcs=false", // the checkout's commit is not these programs' version
		"-trimpath",       // same result in every checkout
		"-tags=" + g.Tags,
		"-ldflags=" + strings.Join(ld, " "),
	}
}

// fingerprint covers all that goes into the group's programs.
func (g Group) fingerprint(modules, toolchain string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, toolchain, runtime.GOARCH, g.flags())
	dir := filepath.Join(modules, g.Module)
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !strings.HasSuffix(p, ".go") && d.Name() != "go.mod" && d.Name() != "go.sum" {
			return nil
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		fmt.Fprintf(h, "%s %x\n", rel, sha256.Sum256(data))
		return err
	})
	if err != nil {
		return "", fmt.Errorf("reading wrapper module %s: %w", g.Module, err)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// stampText ties the fingerprint to the very file that was built with it.
func stampText(binary, print string) (string, error) {
	st, err := os.Stat(binary)
	if err != nil {
		return "", fmt.Errorf("looking at program: %w", err)
	}
	return fmt.Sprintf("%s %d %d\n", print, st.Size(), st.ModTime().UnixNano()), nil
}

func fresh(stamp, binary, print string) bool {
	want, err := stampText(binary, print)
	if err != nil {
		return false
	}
	have, err := os.ReadFile(stamp)
	return err == nil && string(have) == want
}

func writeStamp(stamp, binary, print string) error {
	text, err := stampText(binary, print)
	if err != nil {
		return err
	}
	return files.Write(stamp, []byte(text), 0o644)
}
