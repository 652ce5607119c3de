package model

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
)

// orderedBody orders the keys of a JSON body for the provider's prompt cache: the
// stable parts first, the conversation last, so that all requests of a session begin
// with the same bytes. Everything below the top level stays byte for byte as it is,
// and so does a body that is not a JSON object.
type orderedBody struct{ next http.RoundTripper }

// lateKeys come last, in this order; all other keys come first, by name.
var lateKeys = []string{"tools", "system", "messages"}

func (t orderedBody) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body == nil || !strings.HasPrefix(req.Header.Get("Content-Type"), "application/json") {
		return t.next.RoundTrip(req)
	}
	body, err := io.ReadAll(req.Body)
	if err == nil {
		err = req.Body.Close()
	}
	if err != nil {
		return nil, err
	}
	body = order(body)
	req = req.Clone(req.Context())
	req.ContentLength = int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	if req.Body, err = req.GetBody(); err != nil {
		return nil, err
	}
	return t.next.RoundTrip(req)
}

func order(body []byte) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return body
	}
	keys := make([]string, 0, len(fields))
	for key := range fields {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if late := slices.Index(lateKeys, a) - slices.Index(lateKeys, b); late != 0 {
			return late
		}
		return strings.Compare(a, b)
	})
	out := bytes.NewBuffer(make([]byte, 0, len(body)))
	for i, key := range keys {
		if i == 0 {
			out.WriteByte('{')
		} else {
			out.WriteByte(',')
		}
		name, _ := json.Marshal(key) // strings always marshal
		out.Write(name)
		out.WriteByte(':')
		out.Write(fields[key])
	}
	if len(keys) == 0 {
		return body
	}
	out.WriteByte('}')
	return out.Bytes()
}
