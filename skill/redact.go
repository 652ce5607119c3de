package skill

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Redactor hides a skill's secrets in what comes back from where it runs: a
// service may repeat what it was sent. The zero value hides nothing. It is safe
// for concurrent use.
type Redactor struct{ replacer *strings.Replacer }

// Redactor returns what hides the secrets of a config: the values that came from
// the environment, and those of headers and variables whose names say that they
// hold one. Values of fewer than 6 bytes are not hidden, they would be found
// everywhere.
func (c *Config) Redactor() Redactor {
	forms := map[string]bool{}
	for _, s := range c.Expanded {
		addForms(forms, string(s))
	}
	for _, values := range []map[string]Secret{c.Headers, c.Env} {
		for name, value := range values {
			if sensitive.MatchString(name) {
				addSecret(forms, string(value))
			}
		}
	}
	if len(forms) == 0 {
		return Redactor{}
	}
	longestFirst := slices.SortedFunc(maps.Keys(forms), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	var pairs []string
	for _, form := range longestFirst {
		pairs = append(pairs, form, hidden)
	}
	return Redactor{strings.NewReplacer(pairs...)}
}

// sensitive is what is said in the names of headers and variables that hold a
// secret.
var sensitive = regexp.MustCompile(`(?i)auth|cookie|credential|key|pass|secret|session|signature|token`)

const shortestSecret = 6

// addSecret adds a value, and what follows the scheme in one such as "Bearer x".
func addSecret(forms map[string]bool, value string) {
	addForms(forms, value)
	scheme, rest, found := strings.Cut(value, " ")
	if !found {
		return
	}
	addForms(forms, strings.TrimSpace(rest))
	if strings.EqualFold(scheme, "basic") {
		plain, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(rest)) // what is no base64 holds no password
		_, password, _ := strings.Cut(string(plain), ":")
		addForms(forms, password)
	}
}

// addForms adds a secret as it is, and as JSON, URLs and base64 write it.
func addForms(forms map[string]bool, secret string) {
	if len(secret) < shortestSecret {
		return
	}
	quoted, _ := json.Marshal(secret) // a string always can be
	for _, form := range []string{
		secret, string(quoted[1 : len(quoted)-1]), strings.ReplaceAll(secret, "/", `\/`),
		url.QueryEscape(secret), url.PathEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret)),
	} {
		forms[form] = true
	}
}

// Text returns a text without the secrets.
func (r Redactor) Text(s string) string {
	if r.replacer == nil {
		return s
	}
	return r.replacer.Replace(s)
}

// JSON returns a valid JSON value without the secrets, however its strings are
// escaped. What holds none comes back byte by byte.
func (r Redactor) JSON(raw json.RawMessage) json.RawMessage {
	if r.replacer == nil || !bytes.ContainsRune(raw, '\\') && r.Text(string(raw)) == string(raw) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		n := tokenLength(raw)
		out, raw = r.appendToken(out, raw[:n]), raw[n:]
	}
	return out
}

func (r Redactor) appendToken(out, token []byte) []byte {
	switch {
	case token[0] == '"':
		var s string
		if err := json.Unmarshal(token, &s); err == nil && r.Text(s) != s {
			token, _ = json.Marshal(r.Text(s)) // a string always can be
		}
	case len(token) > 1 && r.Text(string(token)) != string(token):
		token = []byte(`"` + hidden + `"`)
	}
	return append(out, token...)
}

// tokenLength is that of the string, the number or the byte of punctuation with
// which a piece of JSON begins.
func tokenLength(raw []byte) int {
	n := 1
	switch {
	case raw[0] == '"':
		for n < len(raw) && raw[n] != '"' {
			if raw[n] == '\\' {
				n++
			}
			n++
		}
		n++
	case raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9':
		for n < len(raw) && isNumeric(raw[n]) {
			n++
		}
	}
	return min(n, len(raw))
}

func isNumeric(b byte) bool { return '0' <= b && b <= '9' || strings.IndexByte("+-.eE", b) >= 0 }
