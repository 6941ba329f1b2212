// Package image makes container images of one static program each, or of a
// folder, without a container engine: an OCI image layout in a tar archive, as
// containerd imports it. The same content gives the same digest, always.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Spec is an image to make.
type Spec struct {
	// Reference is the full name, as Normalize returns it.
	Reference string
	// Binary is the program's file on this machine; empty if there is a Root.
	Binary string
	// Root is a folder whose content is the image's; empty if there is a Binary.
	Root string
	// Entrypoint is what a container runs; its first word is also where the
	// program lies in the image.
	Entrypoint []string
	// User is UID:GID. It must be numeric, or a kubelet cannot tell that it is
	// not root and refuses a pod that must not run as root.
	User string
	// Passwd adds an /etc/passwd with User. A kubelet passes on a user's number
	// only; the runtime looks the group up there and takes 0 if it cannot.
	Passwd bool
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Platform    *platform         `json:"platform,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	// Uncompressed: it never travels farther than this disk.
	layerType = "application/vnd.oci.image.layer.v1.tar"
)

// Write writes the archive and returns the digest of the image's manifest.
func Write(w io.Writer, s Spec) (string, error) {
	layer, err := describeLayer(s)
	if err != nil {
		return "", err
	}
	config, err := encode(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"User": s.User, "Entrypoint": s.Entrypoint, "WorkingDir": "/"},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{layer.Digest}},
	})
	if err != nil {
		return "", err
	}
	manifest, err := encode(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType,
		"config": describe(configType, config),
		"layers": []descriptor{layer},
	})
	if err != nil {
		return "", err
	}
	m := describe(manifestType, manifest)
	m.Platform = &platform{Architecture: runtime.GOARCH, OS: "linux"}
	// The name containerd gives it on import.
	m.Annotations = map[string]string{"io.containerd.image.name": s.Reference}
	index, err := encode(map[string]any{
		"schemaVersion": 2, "mediaType": indexType, "manifests": []descriptor{m},
	})
	if err != nil {
		return "", err
	}
	return m.Digest, writeArchive(w, s, layer, map[string][]byte{
		"oci-layout":         []byte(`{"imageLayoutVersion":"1.0.0"}`),
		"index.json":         index,
		blob(m.Digest):       manifest,
		blob(digest(config)): config,
	}, []string{"oci-layout", "index.json", blob(m.Digest), blob(digest(config))})
}

func writeArchive(w io.Writer, s Spec, layer descriptor, small map[string][]byte, order []string) error {
	t := tar.NewWriter(w)
	for _, name := range order {
		if err := header(t, name, 0o644, int64(len(small[name])), tar.TypeReg); err != nil {
			return err
		}
		if _, err := t.Write(small[name]); err != nil {
			return fmt.Errorf("writing image: %w", err)
		}
	}
	if err := header(t, blob(layer.Digest), 0o644, layer.Size, tar.TypeReg); err != nil {
		return err
	}
	if err := writeLayer(t, s); err != nil {
		return err
	}
	if err := t.Close(); err != nil {
		return fmt.Errorf("writing image: %w", err)
	}
	return nil
}

// describeLayer reads the program once for the digest; it is read a second
// time to be written, so that it need not fit into memory.
func describeLayer(s Spec) (descriptor, error) {
	h := sha256.New()
	n := &countingWriter{w: h}
	if err := writeLayer(n, s); err != nil {
		return descriptor{}, err
	}
	return descriptor{MediaType: layerType, Digest: "sha256:" + hex.EncodeToString(h.Sum(nil)), Size: n.n}, nil
}

func writeLayer(w io.Writer, s Spec) error {
	t := tar.NewWriter(w)
	write := writeProgram
	if s.Root != "" {
		write = writeTree
	}
	if err := write(t, s); err != nil {
		return err
	}
	if err := t.Close(); err != nil {
		return fmt.Errorf("writing image: %w", err)
	}
	return nil
}

func writeProgram(t *tar.Writer, s Spec) error {
	name := strings.TrimPrefix(path.Clean(s.Entrypoint[0]), "/")
	for i, c := range name {
		if c == '/' {
			if err := header(t, name[:i+1], 0o755, 0, tar.TypeDir); err != nil {
				return err
			}
		}
	}
	if err := writeFile(t, name, s.Binary, 0o755); err != nil || !s.Passwd {
		return err
	}
	return writePasswd(t, s.User)
}

func writePasswd(t *tar.Writer, user string) error {
	uid, gid, ok := strings.Cut(user, ":")
	if !ok {
		gid = uid
	}
	line := fmt.Sprintf("nonroot:x:%s:%s::/:/\n", uid, gid)
	if err := header(t, "etc/", 0o755, 0, tar.TypeDir); err != nil {
		return err
	}
	if err := header(t, "etc/passwd", 0o644, int64(len(line)), tar.TypeReg); err != nil {
		return err
	}
	if _, err := io.WriteString(t, line); err != nil {
		return fmt.Errorf("writing image: %w", err)
	}
	return nil
}

func writeFile(t *tar.Writer, name, file string, mode int64) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("reading file for image: %w", err)
	}
	defer func() { _ = f.Close() }() // read only
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("reading file for image: %w", err)
	}
	if err := header(t, name, mode, st.Size(), tar.TypeReg); err != nil {
		return err
	}
	if _, err := io.Copy(t, f); err != nil {
		return fmt.Errorf("writing image: %w", err)
	}
	return nil
}

// header leaves out all that differs between two machines: owner and time.
func header(t *tar.Writer, name string, mode, size int64, kind byte) error {
	err := t.WriteHeader(&tar.Header{
		Typeflag: kind, Name: name, Mode: mode, Size: size,
		ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR,
	})
	if err != nil {
		return fmt.Errorf("writing image: %w", err)
	}
	return nil
}

func encode(v any) ([]byte, error) {
	data, err := json.Marshal(v) // maps are encoded in the order of their keys
	if err != nil {
		return nil, fmt.Errorf("encoding image: %w", err)
	}
	return data, nil
}

func describe(mediaType string, data []byte) descriptor {
	return descriptor{MediaType: mediaType, Digest: digest(data), Size: int64(len(data))}
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func blob(digest string) string { return "blobs/" + strings.ReplaceAll(digest, ":", "/") }

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// Check refuses a program that could not run in the image.
func (s Spec) Check() error {
	file := s.Binary
	if s.Root != "" {
		file = filepath.Join(s.Root, s.Entrypoint[0])
	}
	f, err := elf.Open(file)
	if err != nil {
		var bad *elf.FormatError
		if errors.As(err, &bad) || errors.Is(err, io.EOF) {
			return fmt.Errorf("%s is not a Linux program: %w", file, err)
		}
		return fmt.Errorf("reading program: %w", err)
	}
	defer func() { _ = f.Close() }() // read only
	want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	if f.Machine != want {
		return fmt.Errorf("%s is built for %s, but this machine is %s; build it with GOARCH=%s", file, f.Machine, want, runtime.GOARCH)
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		if s.Root == "" {
			return fmt.Errorf("%s needs a dynamic linker, which the image would not have; build it with CGO_ENABLED=0", file)
		}
		name, err := io.ReadAll(p.Open())
		if err != nil {
			return fmt.Errorf("reading program: %w", err)
		}
		linker := strings.TrimRight(string(name), "\x00")
		if _, err := os.Stat(filepath.Join(s.Root, linker)); err != nil {
			return fmt.Errorf("%s needs the dynamic linker %s, which is not below %s", file, linker, s.Root)
		}
	}
	return nil
}

// Normalize completes a name the way a kubelet does: what it looks for under
// "perfrun:dev" is docker.io/library/perfrun:dev.
func Normalize(name string) (string, error) {
	if name == "" || strings.ContainsAny(name, " \t\n@") || strings.ToLower(strings.Split(name, ":")[0]) != strings.Split(name, ":")[0] {
		return "", fmt.Errorf("%q is not an image name; give it as NAME:TAG, in lower case", name)
	}
	first, _, nested := strings.Cut(name, "/")
	switch {
	case !nested:
		name = "docker.io/library/" + name
	case !strings.ContainsAny(first, ".:") && first != "localhost":
		name = "docker.io/" + name
	}
	if !strings.Contains(path.Base(name), ":") {
		name += ":latest"
	}
	return name, nil
}

// CheckUser refuses a user that is not numeric.
func CheckUser(user string) error {
	for part := range bytes.SplitSeq([]byte(user), []byte(":")) {
		if len(part) == 0 || len(bytes.Trim(part, "0123456789")) > 0 {
			return fmt.Errorf("user %q is not numeric; give UID or UID:GID", user)
		}
	}
	return nil
}
