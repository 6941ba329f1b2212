// Package mounts reads the kernel's table of mounts.
package mounts

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
)

// Mount is one line of /proc/self/mountinfo.
type Mount struct {
	// Root is the part of the filesystem that is mounted.
	Root string
	// Point is where it is mounted.
	Point  string
	FSType string
	// Options are the filesystem's own, which for cgroup v1 name controllers.
	Options []string
}

// Read returns the mounts this process sees.
func Read() ([]Mount, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("reading mounts: %w", err)
	}
	defer func() { _ = f.Close() }() // read only: nothing is lost
	return Parse(f)
}

// Parse reads the format that proc(5) describes: six fields, optional ones
// closed by "-", then type, source and the filesystem's options.
func Parse(r io.Reader) ([]Mount, error) {
	var all []Mount
	s := bufio.NewScanner(r)
	for s.Scan() {
		before, after, ok := strings.Cut(s.Text(), " - ")
		head, tail := strings.Fields(before), strings.Fields(after)
		if !ok || len(head) < 6 || len(tail) < 2 {
			return nil, fmt.Errorf("parsing mounts: unexpected line %q", s.Text())
		}
		m := Mount{Root: unescape(head[3]), Point: unescape(head[4]), FSType: tail[0]}
		if len(tail) > 2 {
			m.Options = strings.Split(tail[2], ",")
		}
		all = append(all, m)
	}
	return all, s.Err()
}

// Below returns the mount points at or under dir, the deepest and latest
// first, which is the order in which they can be unmounted.
func Below(all []Mount, dir string) []string {
	var points []string
	for i := len(all) - 1; i >= 0; i-- {
		if p := all[i].Point; p == dir || strings.HasPrefix(p, dir+"/") {
			points = append(points, p)
		}
	}
	sort.SliceStable(points, func(i, j int) bool {
		return strings.Count(points[i], "/") > strings.Count(points[j], "/")
	})
	return points
}

// unescape undoes the kernel's octal escapes for space, tab, newline and
// backslash.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
