package wire

import (
	"fmt"
	"strings"

	"github.com/etui-run/etui/chat"
)

// Part is a part of a message, as protocols between agents have them: a text, or a file.
type Part struct {
	Text string
	// Name and MediaType are those of a file, and Data its bytes as base64.
	Name, MediaType, Data string
}

// Parts returns the text and the files that a message with these parts has. A file of text becomes a
// part of the text.
func Parts(parts []Part) (text string, files []chat.File, err error) {
	var all []string
	for i, p := range parts {
		if p.Data == "" && p.MediaType == "" {
			all = append(all, p.Text)
			continue
		}
		url := "data:" + p.MediaType + ";base64," + p.Data
		if strings.HasPrefix(p.MediaType, "image/") {
			data, _, err := DataURL(url)
			if err != nil {
				return "", nil, fmt.Errorf("part %d: %w", i+1, err)
			}
			files = append(files, chat.File{Name: p.Name, Data: data})
			continue
		}
		written, pdf, err := File(p.Name, url)
		if err != nil {
			return "", nil, fmt.Errorf("part %d: %w", i+1, err)
		}
		if pdf != nil {
			files = append(files, chat.File{Name: p.Name, Data: pdf})
			continue
		}
		all = append(all, written)
	}
	files, err = Check(files)
	return strings.Join(all, "\n"), files, err
}
