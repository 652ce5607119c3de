package wire

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/etui-run/etui/phrase"
)

// sentences are the fields of answers that hold sentences of etui for people: in English, or in the
// language of [Speaker].
var sentences = []string{"reason", "why", "advice", "error", "problem", "note", "notes", "warnings"}

// LanguageOf returns the language that the person behind a client reads; empty means English.
func LanguageOf(w http.ResponseWriter) string {
	if to, ok := w.(Speaker); ok {
		return to.Language()
	}
	return ""
}

// reword writes a JSON document with its sentences in a language.
func reword(lang string, raw []byte) []byte {
	var b bytes.Buffer
	from, to := jsontext.NewDecoder(bytes.NewReader(raw)), jsontext.NewEncoder(&b)
	for {
		token, err := from.ReadToken()
		if errors.Is(err, io.EOF) {
			return b.Bytes()
		}
		if err == nil && token.Kind() == '"' && sentence(from) {
			token = jsontext.String(phrase.Reword(lang, token.String()))
		}
		if err != nil || to.WriteToken(token) != nil {
			return raw
		}
	}
}

// sentence reports whether the text that was read last is the value of one of the [sentences], or in a
// list of them.
func sentence(d *jsontext.Decoder) bool {
	depth := d.StackDepth()
	kind, read := d.StackIndex(depth)
	if kind == '{' && read%2 == 1 {
		return false // a name
	}
	at := d.StackPointer()
	if kind == '[' {
		at = at.Parent()
	}
	return slices.Contains(sentences, at.LastToken())
}
