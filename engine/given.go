package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
)

// maxGiven is how many files of its tools' results a turn gives to the user.
const maxGiven = 16

// storable moves the bytes of the files that tools give to the user from their results to
// the messages: so a store keeps the same bytes once. It returns what these files are.
func storable(messages []chat.Message) (_ []chat.Message, given []chat.File) {
	copied := false
	for i, m := range messages {
		if m.Role != chat.Tool || m.Result == nil || m.Result.View == nil || len(m.Result.View.Files) == 0 {
			continue
		}
		if !copied {
			messages, copied = slices.Clone(messages), true
		}
		result, view := *m.Result, *m.Result.View
		m.Files, result.View = nil, &view
		for _, f := range view.Files {
			if len(f.Data) == 0 {
				continue
			}
			sum := sha256.Sum256(f.Data)
			m.Files = append(m.Files, chat.File{
				Name: printable.Line(f.Name, maxName), MediaType: printable.Line(f.MediaType, maxName), Data: f.Data, Size: len(f.Data), SHA256: hex.EncodeToString(sum[:]),
			})
		}
		view.Files = chat.WithoutData(m.Files)
		m.Result = &result
		given = append(given, view.Files...)
		messages[i] = m
	}
	return messages, given
}

// give returns the files that come with a reply, with others, each once.
func give(given, files []chat.File) []chat.File {
	for _, f := range files {
		if len(given) < maxGiven && !slices.ContainsFunc(given, func(g chat.File) bool { return g.SHA256 == f.SHA256 }) {
			given = append(given, f)
		}
	}
	return given
}

// givenBefore returns the files of the results since the newest question: those of a turn
// that is resumed.
func givenBefore(messages []chat.Message) (files []chat.File) {
	for _, m := range slices.Backward(messages) {
		if m.Role == chat.User {
			break
		}
		if m.Role == chat.Tool {
			files = append(files, m.Files...)
		}
	}
	return files
}
