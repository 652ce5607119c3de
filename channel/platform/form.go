package platform

import (
	"bytes"
	"cmp"
	"mime/multipart"
	"net/textproto"
	"slices"

	"github.com/etui-run/etui/internal/printable"
)

// Form is a body of the type multipart/form-data. The zero value is empty. The bytes of its
// files are not copied.
type Form struct {
	done  [][]byte
	b     bytes.Buffer // what follows; it takes everything
	w     *multipart.Writer
	ended bool
}

func (f *Form) writer() *multipart.Writer {
	if f.w == nil {
		f.w = multipart.NewWriter(&f.b)
	}
	return f.w
}

// Field adds a field.
func (f *Form) Field(name, value string) { _ = f.writer().WriteField(name, value) }

// File adds a file. An empty name or type becomes that of a file of which nothing is known.
func (f *Form) File(field, name, mediaType string, data []byte) {
	head := textproto.MIMEHeader{}
	head.Set("Content-Disposition", multipart.FileContentDisposition(field, cmp.Or(printable.Line(name, 255), "file")))
	head.Set("Content-Type", cmp.Or(printable.OneLine(mediaType), "application/octet-stream"))
	_, _ = f.writer().CreatePart(head)
	f.done = append(f.done, bytes.Clone(f.b.Bytes()), data)
	f.b.Reset()
}

// end returns the parts of the form and its type, also when a call is made again.
func (f *Form) end() (parts [][]byte, mediaType string) {
	w := f.writer()
	if !f.ended {
		_ = w.Close()
		f.ended = true
	}
	return append(slices.Clip(f.done), f.b.Bytes()), w.FormDataContentType()
}
