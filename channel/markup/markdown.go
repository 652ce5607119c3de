package markup

import "strings"

// What dialects share whose platform reads Markdown itself.

// LineStarts escapes what means something to Markdown where a line begins.
func LineStarts(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		bare := strings.TrimLeft(line, " \t")
		indent := line[:len(line)-len(bare)]
		digits := strings.TrimLeft(bare, "0123456789")
		switch {
		case bare == "":
		case strings.ContainsRune("#>-+", rune(bare[0])):
			lines[i] = indent + `\` + bare
		case len(digits) < len(bare) && strings.HasPrefix(digits, ". "):
			lines[i] = indent + bare[:len(bare)-len(digits)] + `\` + digits
		}
	}
	return strings.Join(lines, "\n")
}

// Fenced writes code as a block of its own.
func Fenced(language, code string) string {
	if strings.Trim(strings.ToLower(language), "abcdefghijklmnopqrstuvwxyz0123456789+-#.") != "" {
		language = ""
	}
	return "```" + language + "\n" + strings.ReplaceAll(code, "```", "`\u200b``") + "\n```"
}

// Span writes code within a line, or as text that escape has made plain. Two marks around it
// let it have one inside.
func Span(code string, escape func(s string) string) string {
	switch {
	case strings.TrimSpace(code) == "" || strings.Contains(code, "``"):
		return escape(code)
	case strings.Contains(code, "`"):
		return "`` " + code + " ``"
	}
	return "`" + code + "`"
}

// InLink writes the target of a link without what would end it.
func InLink(target string) string { return inLink.Replace(target) }

var inLink = strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", " ", "%20", "\n", "", "\t", "", "|", "%7C", "`", "%60", "\\", "%5C")
