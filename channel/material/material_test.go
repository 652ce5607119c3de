package material_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etui-run/etui/channel/material"
	"github.com/etui-run/etui/chat"
)

func zipped(t *testing.T, parts map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range parts {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestTexts reads texts by their bytes, whatever their name and type say.
func TestTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, kind, data, want string }{
		{"config.json", "application/json", `{"a":1}`, `{"a":1}`},
		{"a.yaml", "application/x-yaml", "a: 1", "a: 1"},
		{"a.ts", "video/mp2t", "let a", "let a"},
		{"t.csv", "application/vnd.ms-excel", "a,b", "a,b"},
		{"run.sh", "application/x-sh", "#!/bin/sh", "#!/bin/sh"},
		{"notes.md", "application/octet-stream", "# notes", "# notes"},
		{"page.xml", "", "<?xml version='1.0'?><a/>", "<?xml version='1.0'?><a/>"},
		{"q.sql", "application/sql", "select 'ä'", "select 'ä'"},
		{"gbk.txt", "text/plain", "\xc4\xe3\xba\xc3", "你好"},
		{"unicode.csv", "text/csv", "a\x00,\x00b\x00\r\x00\n\x00`O}Y", "a,b\n你好"},
		{"search.txt", "text/plain", "BM25 ranks texts.", "BM25 ranks texts."},
		{"latin.txt", "text/plain", "na\xefve caf\xe9", "naïve café"},
		{"utf16.txt", "text/plain", "\xff\xfeh\x00i\x00", "hi"},
		{"colors.log", "text/plain", "\x1b[31mred\x1b[0m", "red"},
		{"a.rtf", "application/rtf", `{\rtf1\ansi One {\b two}\par three}`, "One two\nthree"},
		{"a.docx", "", string(zipped(t, map[string]string{"word/document.xml": `<w:document xmlns:w="w"><w:body><w:p><w:r><w:t>One</w:t></w:r><w:r><w:t xml:space="preserve"> two</w:t></w:r></w:p><w:p><w:r><w:t>三</w:t></w:r></w:p></w:body></w:document>`})), "One two\n三"},
		{"a.xlsx", "", string(zipped(t, map[string]string{
			"xl/workbook.xml": "<workbook/>", "xl/sharedStrings.xml": "<sst><si><t>Name</t></si><si><r><t>An</t></r><r><t>n</t></r></si></sst>",
			"xl/worksheets/sheet1.xml": `<worksheet><sheetData><row><c r="A1" t="s"><v>0</v></c><c r="C1"><v>2.5</v></c></row><row><c r="A2" t="s"><v>1</v></c></row></sheetData></worksheet>`,
		})), "## Sheet 1\nName |  | 2.5\nAnn"},
		{"dates.xlsx", "", string(zipped(t, map[string]string{
			"xl/workbook.xml": "<workbook/>", "xl/styles.xml": `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy&quot;年&quot;m&quot;月&quot;d&quot;日&quot; hh:mm"/><numFmt numFmtId="165" formatCode="0.00&quot; days&quot;"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="20"/><xf numFmtId="165"/></cellXfs></styleSheet>`,
			"xl/worksheets/sheet1.xml": `<worksheet><sheetData><row><c s="1"><v>46023</v></c><c s="2"><v>46023.4375</v></c><c s="3"><v>0.75</v></c><c s="4"><v>46023</v></c><c s="0"><v>46023</v></c><c s="1"><v>-1</v></c></row></sheetData></worksheet>`,
		})), "## Sheet 1\n2026-01-01 | 2026-01-01 10:30 | 18:00 | 46023 | 46023 | -1"},
		{"logs.zip", "", string(zipped(t, map[string]string{"logs/a\nb.log": "12345"})), "logs/a b.log, 5 bytes"},
		{"a.pptx", "", string(zipped(t, map[string]string{"ppt/presentation.xml": "<p/>", "ppt/slides/slide2.xml": `<a:p xmlns:a="a"><a:r><a:t>second</a:t></a:r></a:p>`, "ppt/slides/slide1.xml": `<a:p xmlns:a="a"><a:r><a:t>first</a:t></a:r></a:p>`})), "## Slide 1\nfirst\n\n## Slide 2\nsecond"},
		{"a.odt", "", string(zipped(t, map[string]string{"mimetype": "x", "content.xml": `<o xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><text:h>Title</text:h><text:p>One<text:s/><text:span>two</text:span></text:p></o>`})), "Title\nOne two"},
	} {
		var r material.Reader
		text, seen := r.Read(t.Context(), "", []chat.File{{Name: c.name, MediaType: c.kind, Data: []byte(c.data)}})
		_, got, _ := strings.Cut(text, "]\n")
		if got != c.want || len(seen) > 0 || !strings.HasPrefix(text, "\n\n[File "+c.name) {
			t.Errorf("%s: %q", c.name, text)
		}
	}
}

// keeper keeps files in memory.
func keeper(kept map[string]int) func(context.Context, string, string, []byte) (string, error) {
	return func(_ context.Context, agent, name string, data []byte) (string, error) {
		if name == "full.bin" {
			return "", errors.New("the disk is full")
		}
		kept[name] = len(data)
		return "received/" + agent + "/" + name, nil
	}
}

// TestKept keeps what cannot be read for tools, and shows the two ends of a long text.
func TestKept(t *testing.T) {
	t.Parallel()
	kept := map[string]int{}
	r := material.Reader{Keep: keeper(kept)}
	long := "first line\n" + strings.Repeat("x", 80_000) + "\nlast line"
	text, seen := r.Read(t.Context(), "bot", []chat.File{
		{Name: "big.log", MediaType: "text/plain", Data: []byte(long)},
		{Name: "a.bin", MediaType: "application/octet-stream", Data: []byte{0, 1, 2, 0xff}},
		{Name: "full.bin", MediaType: "application/octet-stream", Data: []byte{0, 1, 2, 0xff}},
		{Name: "away.zip", MediaType: "application/zip", Size: 50 << 20},
		{Name: "bomb.docx", Data: []byte("PK\x03\x04 broken")},
		{Name: "p.pdf", MediaType: "application/octet-stream", Data: []byte("%PDF-1.7\n")},
	})
	for _, want := range []string{
		"[File big.log, kept as received/bot/big.log]\nfirst line\n", "\nlast line", "bytes are left out here",
		"[The message has the file a.bin, application/octet-stream, 4 bytes, kept as received/bot/a.bin]",
		"[The message has the file full.bin, application/octet-stream, 4 bytes, which could not be kept]",
		"[The message has a file that you cannot see: away.zip, application/zip, 52 MB,",
		"kept as received/bot/bomb.docx]",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, strings.ReplaceAll(text, strings.Repeat("x", 1000), ""))
		}
	}
	if len(text) > 70_000 || kept["big.log"] != len(long) || kept["a.bin"] != 4 {
		t.Errorf("%d bytes of text, kept %v", len(text), kept)
	}
	if len(seen) != 1 || seen[0].MediaType != chat.PDF {
		t.Errorf("the model sees %+v", seen)
	}
}

// TestManyPictures: pictures beyond those that a message may have are kept.
func TestManyPictures(t *testing.T) {
	t.Parallel()
	kept := map[string]int{}
	r := material.Reader{Keep: keeper(kept)}
	var files []chat.File
	for range 10 {
		files = append(files, chat.File{Name: "p.pdf", Data: []byte("%PDF-1.7")})
	}
	text, seen := r.Read(t.Context(), "", files)
	if len(seen) != 8 || strings.Count(text, "kept as") != 2 {
		t.Errorf("%d are seen, %q", len(seen), text)
	}
	r.PDF = func(_ context.Context, data []byte) (string, error) {
		if strings.HasSuffix(string(data), "scan") {
			return "", errors.New("it has no text")
		}
		return "the text", nil
	}
	files[9].Data = []byte("%PDF-1.7 scan")
	text, _ = r.Read(t.Context(), "", files)
	if !strings.Contains(text, "[File p.pdf, its text, kept as received//p.pdf]\nthe text\n") || !strings.Contains(text, "whose text cannot be read (it has no text), 13 bytes, kept as") {
		t.Errorf("%q", text)
	}
}

// TestTranscribe writes recordings down through a server, or says that nothing does.
func TestTranscribe(t *testing.T) {
	t.Parallel()
	voice := chat.File{Name: "voice.oga", MediaType: "audio/ogg", Data: []byte("OggS\x00\x02")}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, file, err := r.FormFile("file")
		if err != nil || r.URL.Path != "/v1/audio/transcriptions" || r.FormValue("model") != "whisper-1" || r.Header.Get("Authorization") != "Bearer k" || file.Filename != "voice.ogg" {
			http.Error(w, "wrong", http.StatusBadRequest)
			return
		}
		_, _ = w.Write([]byte(`{"text":"  buy milk "}`))
	}))
	defer server.Close()
	server.Client().Transport.(*http.Transport).DisableKeepAlives = true
	good := material.Transcriber{BaseURL: server.URL + "/v1/", Model: "whisper-1", APIKey: "k", Client: server.Client()}
	bad := material.Transcriber{BaseURL: server.URL, Model: "whisper-1", Client: server.Client()}
	for _, c := range []struct {
		transcribe func(context.Context, chat.File) (string, error)
		want       string
	}{
		{good.Transcribe, "\n\n[Recording voice.oga, written down]\nbuy milk"},
		{bad.Transcribe, "\n[The message has the recording voice.oga, 6 bytes, which tools cannot reach. It could not be written down]"},
		{nil, "\n[The message has the recording voice.oga, 6 bytes, which tools cannot reach. Nothing here writes down what is said in it]"},
	} {
		r := material.Reader{Transcribe: c.transcribe}
		if text, _ := r.Read(t.Context(), "", []chat.File{voice}); text != c.want {
			t.Errorf("%q, want %q", text, c.want)
		}
	}
	r := material.Reader{Transcribe: good.Transcribe}
	wav := chat.File{Name: "a.wav", Data: []byte("RIFF\x24\x00\x00\x00WAVEfmt ")}
	if text, seen := r.Read(t.Context(), "", []chat.File{wav}); len(seen) > 0 || !strings.Contains(text, "written down]") {
		t.Errorf("a model is to hear what a server writes down: %q", text)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("PK\x03\x04"))
	f.Add([]byte("%PDF-"))
	f.Add([]byte("\xff\xfea\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r material.Reader
		text, seen := r.Read(t.Context(), "", []chat.File{{Name: "x", Data: data}})
		if text == "" && len(seen) == 0 || strings.ToValidUTF8(text, "") != text {
			t.Errorf("%q became %q", data, text)
		}
	})
}
