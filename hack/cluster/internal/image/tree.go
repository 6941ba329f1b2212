package image

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// writeTree writes all that is below Root, in the order of its names.
func writeTree(t *tar.Writer, s Spec) error {
	return walk(s.Root, func(name, file string, info fs.FileInfo) error {
		switch {
		case info.IsDir():
			return header(t, name+"/", 0o755, 0, tar.TypeDir)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(file)
			if err != nil {
				return fmt.Errorf("reading link for image: %w", err)
			}
			return link(t, name, target)
		case info.Mode()&0o111 != 0:
			return writeFile(t, name, file, 0o755)
		default:
			return writeFile(t, name, file, 0o644)
		}
	})
}

// walk visits folders, files and symbolic links; an image needs nothing else.
func walk(root string, visit func(name, file string, info fs.FileInfo) error) error {
	return filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("reading folder for image: %w", err)
		}
		name, err := filepath.Rel(root, file)
		if err != nil || name == "." {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return fmt.Errorf("reading folder for image: %w", err)
		}
		if !info.Mode().IsRegular() && !info.IsDir() && info.Mode()&fs.ModeSymlink == 0 {
			return fmt.Errorf("%s is neither file, folder nor link and cannot be in an image", file)
		}
		return visit(filepath.ToSlash(name), file, info)
	})
}

func link(t *tar.Writer, name, target string) error {
	err := t.WriteHeader(&tar.Header{
		Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777,
		ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR,
	})
	if err != nil {
		return fmt.Errorf("writing image: %w", err)
	}
	return nil
}

// Stamp changes with everything that the image is made of, without reading the
// files.
func (s Spec) Stamp() (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%#v\n", s)
	note := func(name, _ string, info fs.FileInfo) error {
		_, err := fmt.Fprintf(h, "%q %v %d %d\n", name, info.Mode(), info.Size(), info.ModTime().UnixNano())
		return err
	}
	if s.Root != "" {
		if err := walk(s.Root, note); err != nil {
			return "", err
		}
	} else {
		info, err := os.Stat(s.Binary)
		if err != nil {
			return "", fmt.Errorf("looking at program: %w", err)
		}
		if err := note("", "", info); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}
