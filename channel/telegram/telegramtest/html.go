package telegramtest

import (
	"fmt"
	"html"
	"regexp"
	"strings"
)

var (
	tag    = regexp.MustCompile(`^<(/?)([a-zA-Z0-9-]+)((?: [a-z-]+(?:="[^"<>]*")?)*)>`)
	entity = regexp.MustCompile(`^&(?:lt|gt|amp|quot|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});`)
	known  = map[string]bool{
		"b": true, "strong": true, "i": true, "em": true, "u": true, "ins": true, "s": true, "strike": true,
		"del": true, "tg-spoiler": true,
		"span": true, "a": true, "code": true, "pre": true, "blockquote": true, "tg-emoji": true,
	}
)

// Parse reads the HTML of https://core.telegram.org/bots/api#html-style and returns what
// readers see. It is stricter than Telegram: it refuses unknown entities, and quotations in quotations.
func Parse(source string) (string, error) {
	var out strings.Builder
	var open []string
	for at := 0; at < len(source); {
		rest := source[at:]
		switch rest[0] {
		case '<':
			m := tag.FindStringSubmatch(rest)
			if m == nil {
				return "", fmt.Errorf("unsupported start tag at byte offset %d", at)
			}
			name := strings.ToLower(m[2])
			switch {
			case !known[name]:
				return "", fmt.Errorf("unsupported start tag %q at byte offset %d", name, at)
			case m[1] != "" && len(open) == 0:
				return "", fmt.Errorf("unexpected end tag at byte offset %d", at)
			case m[1] != "" && open[len(open)-1] != name:
				return "", fmt.Errorf("unmatched end tag at byte offset %d, expected %q, found %q", at,
					"</"+open[len(open)-1]+">", "</"+name+">")
			case m[1] != "":
				open = open[:len(open)-1]
			default:
				for _, outer := range open {
					if outer == "blockquote" && name == outer || outer == "pre" && name != "code" || outer == "code" {
						return "", fmt.Errorf("%s in %s at byte offset %d", name, outer, at)
					}
				}
				open = append(open, name)
			}
			at += len(m[0])
		case '&':
			m := entity.FindString(rest)
			if m == "" {
				return "", fmt.Errorf("unknown entity at byte offset %d", at)
			}
			out.WriteString(html.UnescapeString(m))
			at += len(m)
		case '>':
			return "", fmt.Errorf("bare > at byte offset %d", at)
		default:
			out.WriteByte(rest[0])
			at++
		}
	}
	if len(open) > 0 {
		return "", fmt.Errorf("can't find end tag corresponding to start tag %q", open[len(open)-1])
	}
	return out.String(), nil
}
