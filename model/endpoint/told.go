package endpoint

import (
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
)

// Sound reports whether a file is to be heard.
func Sound(f chat.File) bool { return f.MediaType == chat.WAV || f.MediaType == chat.MP3 }

// WithoutFiles returns a message with words in place of the files for which without is true, and whether it had any.
func WithoutFiles(m chat.Message, without func(chat.File) bool) (chat.Message, bool) {
	var told, others []chat.File
	had := false
	for _, f := range m.Files {
		if without(f) {
			told, had = append(told, f), had || f.Data != nil
		} else {
			others = append(others, f)
		}
	}
	if m.Files = told; len(told) > 0 {
		m.Text, m.Note = model.UserText(m), ""
	}
	m.Files = others
	return m, had
}
