package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func spec(t *testing.T) Spec {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, bytes.Repeat([]byte("program "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	return Spec{
		Reference: "docker.io/library/perfrun:dev", Binary: file,
		Entrypoint: []string{"/opt/bin/perfrun", "manager"}, User: "65532:65532",
	}
}

func archive(t *testing.T, s Spec) (files map[string][]byte, digest string) {
	t.Helper()
	var out bytes.Buffer
	digest, err := Write(&out, s)
	if err != nil {
		t.Fatal(err)
	}
	return untar(t, out.Bytes()), digest
}

func untar(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(time.Unix(0, 0)) || h.Uid != 0 || h.Gid != 0 {
			t.Errorf("%s carries this machine's time or owner", h.Name)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLayout(t *testing.T) {
	s := spec(t)
	files, digest := archive(t, s)
	for name, data := range files {
		if filepath.Dir(name) != "blobs/sha256" {
			continue
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != filepath.Base(name) {
			t.Errorf("%s does not hold what it says", name)
		}
	}
	var index struct{ Manifests []descriptor }
	decode(t, files["index.json"], &index)
	if len(index.Manifests) != 1 || index.Manifests[0].Digest != digest ||
		index.Manifests[0].Annotations["io.containerd.image.name"] != s.Reference {
		t.Errorf("index: %+v", index)
	}
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	decode(t, files[blob(digest)], &manifest)
	var config struct {
		Architecture string
		Config       struct {
			User       string
			Entrypoint []string
		}
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	decode(t, files[blob(manifest.Config.Digest)], &config)
	if config.Architecture != runtime.GOARCH || config.Config.User != s.User || len(config.Config.Entrypoint) != 2 ||
		len(manifest.Layers) != 1 || config.RootFS.DiffIDs[0] != manifest.Layers[0].Digest {
		t.Errorf("config: %+v", config)
	}
	layer := files[blob(manifest.Layers[0].Digest)]
	if int64(len(layer)) != manifest.Layers[0].Size {
		t.Errorf("layer of %d, said to be %d", len(layer), manifest.Layers[0].Size)
	}
	content := untar(t, layer)
	program, err := os.ReadFile(s.Binary)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := content["opt/bin/"]; !ok || len(content) != 3 || !bytes.Equal(content["opt/bin/perfrun"], program) {
		t.Errorf("layer holds %d entries", len(content))
	}
}

func TestPasswd(t *testing.T) {
	s := spec(t)
	s.User, s.Passwd = "65532:65533", true
	var layer bytes.Buffer
	if err := writeLayer(&layer, s); err != nil {
		t.Fatal(err)
	}
	if got := string(untar(t, layer.Bytes())["etc/passwd"]); got != "nonroot:x:65532:65533::/:/\n" {
		t.Errorf("got %q", got)
	}
}

func decode(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%v in %q", err, data)
	}
}

func TestDigestIsReproducible(t *testing.T) {
	s := spec(t)
	_, first := archive(t, s)
	later := time.Now().Add(-time.Hour)
	if err := os.Chtimes(s.Binary, later, later); err != nil {
		t.Fatal(err)
	}
	if _, again := archive(t, s); again != first {
		t.Error("the file's time changes the digest")
	}
	renamed := s
	renamed.Reference = "docker.io/library/perfrun:other"
	if _, again := archive(t, renamed); again != first {
		t.Error("the name changes the digest")
	}
	other := s
	other.User = "1:1"
	if _, d := archive(t, other); d == first {
		t.Error("another user does not change the digest")
	}
}

func TestNormalize(t *testing.T) {
	for name, want := range map[string]string{
		"perfrun:dev":               "docker.io/library/perfrun:dev",
		"perfrun":                   "docker.io/library/perfrun:latest",
		"team/perfrun:v1":           "docker.io/team/perfrun:v1",
		"perfrun.dev/perfrun:v1":    "perfrun.dev/perfrun:v1",
		"localhost:5000/perfrun":    "localhost:5000/perfrun:latest",
		"localhost/perfrun:V1":      "localhost/perfrun:V1",
		"":                          "",
		"Perfrun:dev":               "",
		"perfrun dev":               "",
		"perfrun@sha256:0123456789": "",
	} {
		got, err := Normalize(name)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q: got %q, %v", name, got, err)
		}
	}
}

func TestCheckUser(t *testing.T) {
	for user, ok := range map[string]bool{"65532:65532": true, "0": true, "nobody": false, "1:": false, "": false, "-1": false} {
		if err := CheckUser(user); (err == nil) != ok {
			t.Errorf("%q: %v", user, err)
		}
	}
}

func TestCheck(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, s := range []Spec{
		{Binary: script},
		{Binary: script + ".missing"},
		{Root: filepath.Dir(script), Entrypoint: []string{"/script"}},
		{Root: filepath.Dir(script), Entrypoint: []string{"/missing"}},
	} {
		if err := s.Check(); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}
