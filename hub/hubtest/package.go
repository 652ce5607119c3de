package hubtest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// Manifest returns a SKILL.md.
func Manifest(name, description string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n# %s\nSay hello.\n", name, description, name)
}

// Zip returns a zip archive of files. The same files give the same bytes.
func Zip(files map[string]string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err == nil {
			_, err = f.Write([]byte(files[name]))
		}
		must(err)
	}
	must(z.Close())
	return b.Bytes()
}

// Tar returns a tar.gz archive of files. The same files give the same bytes.
func Tar(files map[string]string) []byte {
	var b bytes.Buffer
	g := gzip.NewWriter(&b)
	t := tar.NewWriter(g)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		must(t.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[name]))}))
		_, err := t.Write([]byte(files[name]))
		must(err)
	}
	must(t.Close())
	must(g.Close())
	return b.Bytes()
}

// must panics on errors that cannot happen in memory.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Digest returns the SHA-256 of a content in hexadecimal.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
