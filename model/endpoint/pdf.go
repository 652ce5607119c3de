package endpoint

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
)

// ReadPDF returns the text of a PDF, or says why it has none.
type ReadPDF func(ctx context.Context, data []byte) (string, error)

// The texts of the PDFs of a request have at most maxPDFs bytes, and at most half of what the model reads.
const (
	maxPDFs      = 192 << 10
	bytesOfToken = 3
)

// Texts returns a request with the text of its PDFs in their place, the newest first as long as there is
// room. A PDF that has no text stays, and the model learns why. A nil read leaves all as they are.
func (read ReadPDF) Texts(ctx context.Context, req model.Request, window int) model.Request {
	if read == nil {
		return req
	}
	room := maxPDFs
	if window > 0 {
		room = min(room, window*bytesOfToken/2)
	}
	req.Messages = slices.Clone(req.Messages)
	for i, m := range slices.Backward(req.Messages) {
		var text strings.Builder
		var files []chat.File
		for _, f := range m.Files {
			if f.MediaType != chat.PDF || f.Data == nil || room == 0 {
				files = append(files, f)
				continue
			}
			said, err := read(ctx, f.Data)
			if err != nil {
				fmt.Fprintf(&text, "\n\n[the text of the file %s cannot be read: %v]", f.Name, err)
				files = append(files, f)
				continue
			}
			more := ""
			if len(said) > room {
				said, more = strings.ToValidUTF8(said[:room], ""), "\n[… the rest is left out …]"
			}
			room -= len(said)
			fmt.Fprintf(&text, "\n\n[file %s, its text without pictures]\n%s%s\n[end of the file]", f.Name, said, more)
		}
		if text.Len() > 0 {
			req.Messages[i].Text, req.Messages[i].Files = strings.TrimSpace(m.Text+text.String()), files
		}
	}
	return req
}
