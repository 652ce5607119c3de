package hub_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/hub"
	"github.com/etui-run/etui/hub/hubtest"
)

// zipped returns an archive with a manifest and what make adds to it.
func zipped(t testing.TB, make func(*zip.Writer)) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	add(t, z, &zip.FileHeader{Name: "SKILL.md"}, hubtest.Manifest("greet", "Greets people."))
	if make != nil {
		make(z)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func add(t testing.TB, z *zip.Writer, h *zip.FileHeader, text string) {
	t.Helper()
	f, err := z.CreateHeader(h)
	if err == nil {
		_, err = io.WriteString(f, text)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// named returns an archive with files of these names.
func named(t testing.TB, names ...string) []byte {
	return zipped(t, func(z *zip.Writer) {
		for _, name := range names {
			text := "x"
			if strings.HasSuffix(name, "/") {
				text = ""
			}
			add(t, z, &zip.FileHeader{Name: name}, text)
		}
	})
}

// moded returns an archive with a file of a Unix mode.
func moded(t testing.TB, mode uint32, text string) []byte {
	return zipped(t, func(z *zip.Writer) {
		h := &zip.FileHeader{Name: "odd", CreatorVersion: 3 << 8, ExternalAttrs: mode << 16}
		add(t, z, h, text)
	})
}

// tarred returns a tar.gz archive with a manifest and one more entry.
func tarred(t testing.TB, more *tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	g, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	w := tar.NewWriter(g)
	manifest := hubtest.Manifest("greet", "Greets people.")
	err := w.WriteHeader(&tar.Header{Name: "greet/SKILL.md", Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(manifest))})
	if err == nil {
		_, err = io.WriteString(w, manifest)
	}
	if err == nil && more != nil {
		if err = w.WriteHeader(more); err == nil {
			_, err = w.Write(make([]byte, more.Size))
		}
	}
	if err := errors.Join(err, w.Close(), g.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// patched replaces bytes in an archive n times, from its end.
func patched(archive []byte, old, fresh string, n int) []byte {
	for ; n > 0; n-- {
		i := bytes.LastIndex(archive, []byte(old))
		archive = append(append(append([]byte{}, archive[:i]...), fresh...), archive[i+len(old):]...)
	}
	return archive
}

// central changes the central header of the last entry.
func central(archive []byte, change func(header []byte)) []byte {
	archive = bytes.Clone(archive)
	change(archive[bytes.LastIndex(archive, []byte("PK\x01\x02")):])
	return archive
}

// local changes the header before the last entry's content.
func local(archive []byte, change func(header []byte)) []byte {
	change(archive[bytes.LastIndex(archive, []byte("PK\x03\x04")):])
	return archive
}

func zeros(n int) string { return string(make([]byte, n)) }

// TestArchives installs archives of every class, and refuses bad ones.
func TestArchives(t *testing.T) {
	le := binary.LittleEndian
	plain := named(t, "a.md")
	many := make([]string, 6000)
	for i := range many {
		many[i] = "d/" + strings.Repeat("x", 1+i%50) + string(rune('a'+i%26)) + strings.Repeat("y", i/50) + "/"
	}
	for name, c := range map[string]struct {
		archive []byte
		says    string // empty: it is installed
	}{
		"ordinary":           {plain, ""},
		"one folder":         {hubtest.Zip(map[string]string{"greet/SKILL.md": hubtest.Manifest("greet", "Greets."), "greet/a/b.md": "b", "__MACOSX/greet/._SKILL.md": "mac", "greet/.DS_Store": "mac"}), ""},
		"another folder":     {hubtest.Zip(map[string]string{"other/SKILL.md": hubtest.Manifest("greet", "Greets.")}), "no SKILL.md"},
		"tar":                {tarred(t, nil), ""},
		"names of a people":  {named(t, "参考/指南.md", "docs/größe.md", "a b.md", "x/.hidden"), ""},
		"mode 0":             {moded(t, 0o100000, "x"), ""},
		"setuid, all may":    {moded(t, 0o106777, "x"), ""},
		"no mode":            {moded(t, 0, "x"), ""},
		"up":                 {named(t, "../evil"), "unsafe name"},
		"up later":           {named(t, "a/../../evil"), "unsafe name"},
		"absolute":           {named(t, "/tmp/evil"), "unsafe name"},
		"drive":              {named(t, "C:evil"), "unsafe name"},
		"stream":             {named(t, "a.md:evil"), "unsafe name"},
		"backslash":          {named(t, `..\evil`), "unsafe name"},
		"almost a slash":     {named(t, "..\u2215evil"), "unsafe name"},
		"home":               {named(t, "~/evil"), "unsafe name"},
		"NUL":                {named(t, "a\x00.md"), "unsafe name"},
		"not UTF-8":          {named(t, "\xff\xfe"), "unsafe name"},
		"empty element":      {named(t, "a//b"), "unsafe name"},
		"dot element":        {named(t, "a/./b"), "unsafe name"},
		"wide dots":          {named(t, "．．/evil"), "unsafe name"},
		"wide slash":         {named(t, "a／..／evil"), "unsafe name"},
		"turned around":      {named(t, "a\u202edm.exe"), "unsafe name"},
		"too long":           {named(t, strings.Repeat("x", 5000)), "unsafe name"},
		"long element":       {named(t, strings.Repeat("x", 300)), "unsafe name"},
		"too deep":           {named(t, strings.Repeat("d/", 40)+"x"), "unsafe name"},
		"device":             {named(t, "AUX.md"), "unsafe name"},
		"device in a folder": {named(t, "com1/a"), "unsafe name"},
		"trailing dot":       {named(t, "a."), "unsafe name"},
		"repository":         {named(t, ".git/hooks/post-checkout"), "unsafe name"},
		"case":               {named(t, "A.md", "a.md"), "the same file"},
		"case of folders":    {named(t, "Docs/a", "docs/b"), "the same file"},
		"manifest twice":     {named(t, "skill.md"), "the same file"},
		"accents":            {named(t, "caf\u00e9", "cafe\u0301"), "the same file"},
		"sharp s":            {named(t, "straße", "STRASSE"), "the same file"},
		"twice":              {named(t, "a.md", "a.md"), "twice"},
		"file and folder":    {named(t, "a", "a/b"), "file and folder"},
		"folder and file":    {named(t, "a/b", "a"), "file and folder"},
		"link":               {moded(t, 0o120777, "/etc/passwd"), "a link"},
		"pipe":               {moded(t, 0o010644, ""), "special file"},
		"device node":        {moded(t, 0o020644, ""), "special file"},
		"tar link":           {tarred(t, &tar.Header{Name: "greet/l", Typeflag: tar.TypeSymlink, Linkname: ".."}), "a link"},
		"tar hard link":      {tarred(t, &tar.Header{Name: "greet/l", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}), "a link"},
		"tar pipe":           {tarred(t, &tar.Header{Name: "greet/p", Typeflag: tar.TypeFifo}), "special file"},
		"tar up":             {tarred(t, &tar.Header{Name: "greet/../../evil", Typeflag: tar.TypeReg, Size: 1}), "unsafe name"},
		"tar bomb":           {tarred(t, &tar.Header{Name: "greet/z", Typeflag: tar.TypeReg, Size: 33 << 20}), "at most"},
		"grows":              {zipped(t, func(z *zip.Writer) { add(t, z, &zip.FileHeader{Name: "z", Method: zip.Deflate}, zeros(3<<20)) }), "grows"},
		"one large file":     {zipped(t, func(z *zip.Writer) { add(t, z, &zip.FileHeader{Name: "z"}, zeros(33<<20)) }), "at most"},
		"a little that grows": {zipped(t, func(z *zip.Writer) {
			add(t, z, &zip.FileHeader{Name: "z", Method: zip.Deflate}, strings.Repeat("a,b,c\n", 100_000))
		}), ""},
		"too many":          {named(t, many...), "more than 5000"},
		"two headers":       {patched(plain, "a.md", "b.md", 1), "two headers"},
		"both headers":      {patched(plain, "a.md", "../e", 2), "unsafe name"},
		"checksum":          {bytes.Replace(plain, []byte("a.mdx"), []byte("a.mdy"), 1), "is damaged"},
		"encrypted":         {central(plain, func(h []byte) { h[8] |= 1 }), "two headers"},
		"encrypted in both": {local(central(plain, func(h []byte) { h[8] |= 1 }), func(h []byte) { h[6] |= 1 }), "is encrypted"},
		"unknown method":    {central(plain, func(h []byte) { le.PutUint16(h[10:], 99) }), "two headers"},
		"smaller than it says": {central(plain, func(h []byte) {
			le.PutUint32(h[24:], 5)
		}), "sizes of a file"},
		"beyond the end": {central(plain, func(h []byte) { le.PutUint32(h[42:], 1<<30) }), "two headers"},
		"shared bytes":   {central(named(t, "a.md", "a.md"), func(h []byte) { le.PutUint32(h[42:], uint32(bytes.Index(named(t, "a.md", "a.md"), []byte("a.md"))-30)) }), "share bytes"},
		"trailing bytes": {append(bytes.Clone(plain), "junk"...), "damaged"},
		"half":           {plain[:len(plain)/2], "damaged"},
		"web page":       {[]byte("<!doctype html><title>502</title>"), "neither a zip nor a tar.gz"},
		"nothing":        {nil, "neither a zip nor a tar.gz"},
		"empty archive":  {hubtest.Zip(nil), "empty"},
		"no gzip":        {[]byte("\x1f\x8b\x08junkjunkjunk"), "damaged"},
		"no manifest":    {hubtest.Zip(map[string]string{"a.md": "a"}), "no SKILL.md"},
		"manifest below": {hubtest.Zip(map[string]string{"a/SKILL.md": hubtest.Manifest("greet", "Greets."), "b": "b"}), "no SKILL.md"},
		"another name":   {hubtest.Zip(map[string]string{"SKILL.md": hubtest.Manifest("other", "Greets.")}), "names the skill"},
		"odd name":       {hubtest.Zip(map[string]string{"SKILL.md": hubtest.Manifest("../greet", "Greets.")}), "cannot be the name"},
		"no name":        {hubtest.Zip(map[string]string{"SKILL.md": "---\ndescription: x\n---\n"}), "name"},
		"no description": {hubtest.Zip(map[string]string{"SKILL.md": "---\nname: greet\n---\n"}), "description"},
		"long description": {hubtest.Zip(map[string]string{
			"SKILL.md": hubtest.Manifest("greet", strings.Repeat("d", 1025)),
		}), "at most 1024"},
		"unquoted colon": {hubtest.Zip(map[string]string{"SKILL.md": hubtest.Manifest("greet", "Use it when: greeting.")}), ""},
		"broken YAML":    {hubtest.Zip(map[string]string{"SKILL.md": hubtest.Manifest("greet", "\"Greets")}), "not valid YAML"},
		"two names":      {hubtest.Zip(map[string]string{"SKILL.md": "---\nname: bash\nname: greet\ndescription: x\n---\n"}), "occurs twice"},
		"no text":        {hubtest.Zip(map[string]string{"SKILL.md": "---\nname: greet\ndescription: [a, b]\n---\n"}), "should be a text"},
		"not closed":     {hubtest.Zip(map[string]string{"SKILL.md": "---\nname: greet\ndescription: x\n# Greet\n"}), "not closed"},
		"no frontmatter": {hubtest.Zip(map[string]string{"SKILL.md": "Greet people.\n"}), "frontmatter"},
		"its own record": {hubtest.Zip(map[string]string{"SKILL.md": hubtest.Manifest("greet", "Greets."), ".skill-origin.json": `{"pinned":true}`}), ""},
	} {
		t.Run(name, func(t *testing.T) { tryArchive(t, c.archive, c.says) })
	}
}

// tryArchive installs an archive. A refused one leaves nothing behind, and other
// skills stay.
func tryArchive(t *testing.T, archive []byte, says string) {
	h := begin(t)
	file := filepath.Join(t.TempDir(), "a.zip")
	if err := errors.Join(os.WriteFile(file, archive, 0o600), os.MkdirAll(filepath.Join(h.dir, "other"), 0o755), os.WriteFile(filepath.Join(h.dir, "other/SKILL.md"), []byte("kept"), 0o644)); err != nil {
		t.Fatal(err)
	}
	from, err := hub.NewFile(file)
	if err != nil {
		t.Fatal(err)
	}
	done, err := h.Install(t.Context(), from, hub.Ref{Name: "greet"}, hub.Options{})
	if says != "" {
		if !errors.Is(err, hub.ErrRefused) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v\nwant %q", err, says)
		}
		h.want("other/SKILL.md")
		return
	}
	if err != nil || done.Origin.Pinned || h.read("greet/SKILL.md") == "" || h.read("other/SKILL.md") != "kept" {
		t.Fatal(done, err)
	}
	for _, name := range h.files() {
		info, err := os.Lstat(filepath.Join(h.dir, name))
		if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&^0o755 != 0 || info.Mode().Perm()&0o600 != 0o600 || info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		if strings.Contains(name, "MACOSX") || strings.Contains(name, "DS_Store") {
			t.Errorf("%s came along", name)
		}
	}
}
