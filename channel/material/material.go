// Package material turns the files of a message into what a model reads. Pictures and PDFs stay as
// they are, as many as a message may have; texts and documents become text, recordings are written down, and everything else
// becomes a file of the workspace that tools can use. Each file leaves at least a line.
package material

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/charset"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/picture"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/rtf"
	"github.com/etui-run/etui/message"
)

const (
	// maxText is how many bytes of a text the message gets, and maxTexts of all. Of longer texts it
	// gets the beginning and the end.
	maxText, maxTexts = 64 << 10, 192 << 10
	// tail is how much of a long text is its end: of a log, that says most.
	tail = 16 << 10
	// sniffed is how much of a file is looked at to know whether it is text.
	sniffed = 64 << 10
)

// Reader reads the files of messages. The zero value keeps nothing and transcribes nothing. It is
// safe for concurrent use.
type Reader struct {
	// Keep writes a file for an agent's tools, and returns the path by which they know it. Nil keeps
	// none. The empty agent is the first one.
	Keep func(ctx context.Context, agent, name string, data []byte) (path string, err error)
	// Transcribe writes down what is said in a recording; nil means that nothing does.
	Transcribe func(ctx context.Context, f chat.File) (string, error)
	// PDF reads the text of a PDF that is too large for the model; nil means that nothing does.
	PDF func(ctx context.Context, data []byte) (string, error)
	// Log receives what operators should know; nil discards.
	Log *slog.Logger
}

// Read returns the files that the model sees, and what it reads of the others: a text that ends
// without a line break, or nothing.
func (r *Reader) Read(ctx context.Context, agent string, files []chat.File) (text string, seen []chat.File) {
	one := reading{Reader: r, agent: agent, room: maxTexts}
	for _, f := range files {
		one.file(ctx, f)
	}
	return one.text.String(), one.seen
}

// reading is how far the files of a message were read.
type reading struct {
	*Reader
	agent string
	text  strings.Builder
	room  int // bytes of texts
	seen  []chat.File
}

func (r *reading) file(ctx context.Context, f chat.File) {
	name, kind := printable.OneLine(f.Name), printable.OneLine(f.MediaType)
	if len(f.Data) == 0 {
		why := "it is empty, or its bytes did not come along"
		if f.Size > 0 {
			why = fmt.Sprintf("%s, which is too much or could not be loaded", size(f.Size))
		}
		r.line("[The message has a file that you cannot see: %s, %s, %s]", name, kind, why)
		return
	}
	if r.Transcribe != nil && picture.Sound(f.Data) != "" { // few models hear what they get
		r.listen(ctx, f, name)
		return
	}
	if r.sees(f) {
		return
	}
	if text, what := read(f); text != "" {
		r.say(ctx, f, name, what, text)
		return
	}
	if r.PDF != nil && bytes.HasPrefix(f.Data, []byte("%PDF-")) {
		text, err := r.PDF(ctx, f.Data)
		if err == nil {
			r.say(ctx, f, name, ", its text", text)
			return
		}
		kind += fmt.Sprintf(", whose text cannot be read (%v)", err)
	}
	if recorded(f) {
		r.listen(ctx, f, name)
		return
	}
	r.line("[The message has the file %s, %s, %s%s]", name, kind, size(len(f.Data)), r.keep(ctx, f))
}

// sees adds what models see, as long as a message may have more of it.
func (r *reading) sees(f chat.File) bool {
	checked, err := message.Pictures(append(r.seen[:len(r.seen):len(r.seen)], f))
	if err != nil {
		return false
	}
	r.seen = checked
	return true
}

// say writes the text of a file.
func (r *reading) say(ctx context.Context, f chat.File, name, what, text string) {
	text = strings.TrimSpace(printable.Text(text))
	most := min(maxText, r.room)
	r.room -= min(len(text), most)
	if len(text) > most {
		head, end := max(0, most-tail), min(tail, most)
		left := fmt.Sprintf("\n[… %d bytes are left out here …]\n", len(text)-head-end)
		text = strings.ToValidUTF8(text[:head], "") + left + strings.ToValidUTF8(text[len(text)-end:], "")
		what += r.keep(ctx, f)
	} else if what != "" { // the document has more than its text
		what += r.keep(ctx, f)
	}
	fmt.Fprintf(&r.text, "\n\n[File %s%s]\n%s", name, what, text)
}

func (r *reading) listen(ctx context.Context, f chat.File, name string) {
	kept := r.keep(ctx, f)
	if r.Transcribe == nil {
		const unheard = "[The message has the recording %s, %s%s. Nothing here writes down what is said in it]"
		r.line(unheard, name, size(len(f.Data)), kept)
		return
	}
	text, err := r.Transcribe(ctx, f)
	if err != nil {
		r.log(ctx, "a recording could not be written down", err)
		r.line("[The message has the recording %s, %s%s. It could not be written down]", name, size(len(f.Data)), kept)
		return
	}
	if text = strings.TrimSpace(printable.Text(text)); text == "" {
		text = "(nothing is said)"
	}
	fmt.Fprintf(&r.text, "\n\n[Recording %s, written down]\n%s", name, text[:min(len(text), maxText)])
}

// keep returns where a file was kept, as the end of a line.
func (r *reading) keep(ctx context.Context, f chat.File) string {
	if r.Keep == nil {
		return ", which tools cannot reach"
	}
	path, err := r.Keep(ctx, r.agent, f.Name, f.Data)
	if err != nil {
		r.log(ctx, "a file of a message could not be kept", err)
		return ", which could not be kept"
	}
	return ", kept as " + path
}

func (r *reading) log(ctx context.Context, what string, err error) {
	if r.Log != nil {
		r.Log.WarnContext(ctx, "reading what was sent along", "what", what, "error", err)
	}
}

func (r *reading) line(format string, args ...any) {
	fmt.Fprintf(&r.text, "\n"+format, args...)
}

func size(n int) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	}
	return fmt.Sprintf("%d MB", n/1_000_000)
}

// read returns the text of a file, by its bytes: a name and a type say what a program believes.
// What tells what kind of a document had the text; empty means that the file is the text.
func read(f chat.File) (text, what string) {
	if bytes.HasPrefix(f.Data, []byte("PK\x03\x04")) {
		return document(f.Data)
	}
	head := f.Data[:min(len(f.Data), sniffed)]
	if !textual(head) {
		return "", ""
	}
	text, _ = charset.Decode(f.Data, "")
	if strings.HasPrefix(text, `{\rtf`) {
		return rtf.Text(text), ", its text"
	}
	return text, ""
}

// textual reports whether bytes are text: they have no characters that only programs write.
func textual(head []byte) bool {
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return true // UTF-16
	}
	odd := 0
	for _, b := range head {
		switch {
		case b == 0: // UTF-16 without a mark, or no text
			text, sure := charset.Decode(head[:len(head)/2*2], "")
			return sure && !strings.ContainsAny(text, "\x00\ufffd")
		case b < ' ' && !strings.ContainsRune("\t\n\r\f\x1b\b", rune(b)) || b == 0x7f:
			odd++
		}
	}
	is, _, _ := strings.Cut(http.DetectContentType(head), "/")
	media := slices.Contains([]string{"image", "audio", "video", "font"}, is) &&
		(odd > 0 || !utf8.Valid(head)) // a text may begin with BM
	if media || odd*100 > len(head) || bytes.HasPrefix(head, []byte("%PDF-")) {
		return false
	}
	for i := 0; i < utf8.UTFMax && len(head) > 0 && !utf8.Valid(head); i++ { // it was cut within a character
		if len(head) < sniffed-utf8.UTFMax {
			break
		}
		head = head[:len(head)-1]
	}
	text, sure := charset.Decode(head, "")
	return sure || strings.Count(text, "\ufffd")*50 <= len(text) && letters(text)
}

// letters reports whether what is not ASCII in a text is mostly letters: of noise it is not.
func letters(text string) bool {
	odd, all := 0, 0
	for _, r := range text {
		if r >= utf8.RuneSelf {
			if all++; !unicode.IsLetter(r) && !unicode.IsPunct(r) {
				odd++
			}
		}
	}
	return odd*3 <= all
}

// recorded reports whether a file is a recording of sound.
func recorded(f chat.File) bool {
	is := http.DetectContentType(f.Data)
	ogg := is == "application/ogg" && !strings.HasPrefix(f.MediaType, "video/")
	amr := bytes.HasPrefix(f.Data, []byte("#!AMR"))
	return ogg || amr || strings.HasPrefix(f.MediaType, "audio/") || strings.HasPrefix(is, "audio/")
}

// document returns the text of a document of an office program, or the names in another archive; empty
// means that it is neither.
func document(data []byte) (text, what string) {
	err := panics.Try(nil, "reading a document", func() error { // strangers wrote it
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return err
		}
		if text, what = office(z), ", its text"; text == "" {
			text, what = names(z), ", what is in it"
		}
		return nil
	})
	if err != nil {
		return "", ""
	}
	return text, what
}

// maxNames is how many names of an archive are read.
const maxNames = 200

// names lists what an archive has, but not the parts of a document.
func names(z *zip.Reader) string {
	var out strings.Builder
	for i, f := range z.File {
		if f.Name == "[Content_Types].xml" || f.Name == "mimetype" {
			return ""
		}
		if i == maxNames {
			fmt.Fprintf(&out, "and %d more", len(z.File)-i)
			break
		}
		name, _ := charset.Decode([]byte(f.Name), "")
		name = printable.Line(name, 200)
		if !f.FileInfo().IsDir() {
			name += ", " + size(int(min(f.UncompressedSize64, 1<<50)))
		}
		out.WriteString(name + "\n")
	}
	return strings.TrimSpace(out.String())
}
