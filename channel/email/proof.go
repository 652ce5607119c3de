package email

import (
	"errors"
	"slices"
	"strings"
)

// proven reports whether the receiving server, authserv, says that a mail comes from the
// domain of its From. Fields are the Authentication-Results of the mail, the topmost first:
// RFC 8601. Only the topmost one with that name counts, since a server puts its own above those
// that came with the mail.
//
// It does if DMARC has passed for that domain. Where the domain has no DMARC policy, a
// DKIM signature counts that is of the domain itself or of one above it.
func proven(fields []string, authserv, domain string) bool {
	if authserv == "" || domain == "" {
		return false
	}
	for _, field := range fields {
		id, results, err := parseResults(field)
		if !strings.EqualFold(id, authserv) {
			continue
		}
		return err == nil && aligned(results, domain)
	}
	return false
}

func aligned(results []result, domain string) bool {
	passed, signed := false, false
	for _, r := range results {
		switch {
		case r.method == "dmarc" && r.value == "pass":
			passed = passed || lower(r.of("header.from")) == lower(domain)
			if !passed {
				return false
			}
		case r.method == "dmarc" && !slices.Contains([]string{"none", "bestguesspass"}, r.value):
			return false // also when a signature is good: the domain wants more
		case r.method == "dkim" && r.value == "pass":
			signer := r.of("header.d")
			if signer == "" {
				_, signer, _ = strings.Cut(r.of("header.i"), "@")
			}
			signed = signed || within(domain, signer)
		}
	}
	return passed || signed
}

// within reports whether a domain is another one or below it. Whoever has the keys of the
// upper one has the lower one, too. A name without a dot is nobody's.
func within(domain, upper string) bool {
	domain, upper = lower(domain), lower(upper)
	return strings.Contains(strings.Trim(upper, "."), ".") && (domain == upper || strings.HasSuffix(domain, "."+upper))
}

// result is what a server has found in one way: dkim=pass header.d=example.org.
type result struct {
	method, value string
	properties    [][2]string
}

// of returns a property; empty if there is none, or two that differ.
func (r result) of(name string) string {
	value := ""
	for _, p := range r.properties {
		if p[0] == name {
			if value != "" && value != p[1] {
				return ""
			}
			value = p[1]
		}
	}
	return value
}

var errResults = errors.New("the Authentication-Results cannot be read")

// parseResults reads a field. Comments and quoted texts may have anything in them, such as an
// address that the sender has chosen: no part of these counts as a result.
func parseResults(field string) (id string, list []result, err error) {
	parts, err := tokens(field)
	if len(parts) == 0 || len(parts[0]) == 0 {
		return "", nil, errResults
	}
	id = parts[0][0]
	if err != nil || len(parts[0]) > 2 || len(parts[0]) == 2 && parts[0][1] != "1" {
		return id, nil, errResults
	}
	for _, words := range parts[1:] {
		if len(words) == 0 || len(words) == 1 && strings.EqualFold(words[0], "none") {
			continue
		}
		method, value, ok := strings.Cut(words[0], "=")
		if !ok || value == "" {
			return id, nil, errResults
		}
		method, _, _ = strings.Cut(strings.ToLower(method), "/") // its version
		r := result{method: strings.TrimSpace(method), value: strings.ToLower(value)}
		for _, word := range words[1:] {
			if name, value, ok := strings.Cut(word, "="); ok {
				r.properties = append(r.properties, [2]string{strings.ToLower(name), value})
			}
		}
		list = append(list, r)
	}
	return id, list, nil
}

// tokens cuts a field at semicolons, and these parts at spaces. It leaves out comments, and
// takes quoted texts as they are. Spaces around an equals sign belong to no word.
func tokens(field string) (parts [][]string, err error) {
	var words []string
	var word strings.Builder
	quoted, escaped, depth := false, false, 0
	end := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	for i := range len(field) {
		c := field[i]
		switch {
		case escaped:
			escaped = false
			if depth == 0 {
				word.WriteByte(c)
			}
		case c == '\\' && (quoted || depth > 0):
			escaped = true
		case depth > 0:
			depth += map[byte]int{'(': 1, ')': -1}[c]
		case c == '"':
			quoted = !quoted
		case quoted:
			word.WriteByte(c)
		case c == '(':
			depth++
		case c == ')':
			return parts, errResults
		case c == ';':
			end()
			parts, words = append(parts, words), nil
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			if i+1 < len(field) && strings.IndexByte(" \t\r\n=", field[i+1]) < 0 &&
				!strings.HasSuffix(word.String(), "=") {
				end()
			}
		default:
			word.WriteByte(c)
		}
	}
	end()
	parts = append(parts, words)
	if quoted || depth > 0 || escaped {
		err = errResults
	}
	return parts, err
}
