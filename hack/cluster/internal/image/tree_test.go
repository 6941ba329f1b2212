package image

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func tree(t *testing.T) Spec {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "opt", "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"opt/bin/program": 0o700, "data": 0o600} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../data", filepath.Join(root, "opt", "link")); err != nil {
		t.Fatal(err)
	}
	return Spec{Reference: "docker.io/library/tree:dev", Root: root, Entrypoint: []string{"/opt/bin/program"}, User: "1:1"}
}

func TestTree(t *testing.T) {
	var layer bytes.Buffer
	if err := writeLayer(&layer, tree(t)); err != nil {
		t.Fatal(err)
	}
	type entry struct {
		name    string
		kind    byte
		mode    int64
		content string
	}
	want := []entry{
		{"data", tar.TypeReg, 0o644, "data"},
		{"opt/", tar.TypeDir, 0o755, ""},
		{"opt/bin/", tar.TypeDir, 0o755, ""},
		{"opt/bin/program", tar.TypeReg, 0o755, "opt/bin/program"},
		{"opt/link", tar.TypeSymlink, 0o777, "../data"},
	}
	var got []entry
	r := tar.NewReader(bytes.NewReader(layer.Bytes()))
	for h, err := r.Next(); err == nil; h, err = r.Next() {
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, entry{h.Name, h.Typeflag, h.Mode, string(data) + h.Linkname})
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestTreeDigestIsReproducible(t *testing.T) {
	_, first := archive(t, tree(t))
	if _, again := archive(t, tree(t)); again != first {
		t.Error("another folder with the same content has another digest")
	}
}

func TestStampSeesChanges(t *testing.T) {
	s := tree(t)
	before, err := s.Stamp()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Root, "opt", "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if after, err := s.Stamp(); err != nil || after == before {
		t.Errorf("a new file does not change the stamp: %v", err)
	}
}

func TestTreeRefusesWhatNoImageCanHold(t *testing.T) {
	s := tree(t)
	if err := unix.Mkfifo(filepath.Join(s.Root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(io.Discard, s); err == nil {
		t.Error("a pipe is accepted")
	}
}
