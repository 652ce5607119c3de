package markup

import "strings"

// Markdown is the dialect of platforms that read Markdown themselves. Escape writes text
// without meaning. Link is the platform's, and so is all that it does in another way.
func Markdown(escape func(s string) string) Dialect {
	return Dialect{
		Parser: GFM(true),
		Text:   func(s string, _ bool) string { return escape(s) },
		Strong: Around("**", "**"),
		Italic: Around("*", "*"),
		Struck: Around("~~", "~~"),
		Joint:  "\u200a", // a space that nobody sees
		Flanks: true,
		Code:   func(code string) string { return span(code, escape) },
		Heading: func(level int, s string) string {
			return strings.Repeat("#", level) + " " + strings.ReplaceAll(s, "\n", " ")
		},
		Paragraph: lineStarts,
		Fence:     Fenced,
		Table: func(t Table) string {
			var lines []string
			for i, row := range t.Cells {
				line := "|"
				for _, cell := range row {
					line += " " + cellEnd.ReplaceAllString(cell, `$1\|`) + " |"
				}
				lines = append(lines, line)
				if i == 0 {
					lines = append(lines, strings.Repeat("| --- ", len(row))+"|")
				}
			}
			return strings.Join(lines, "\n")
		},
	}
}

// EscapeMarkdown escapes what means something to Markdown anywhere.
func EscapeMarkdown(s string) string { return anywhere.Replace(s) }

var anywhere = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "~", `\~`, "`", "\\`", "|", `\|`, "[", `\[`, "<",
	`\<`)

// lineStarts escapes what means something to Markdown where a line begins.
func lineStarts(s string) string {
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

// span writes code within a line, or as text that escape has made plain. Two marks around it
// let it have one inside.
func span(code string, escape func(s string) string) string {
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

var inLink = strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", " ", "%20", "\n", "", "\t", "", "|",
	"%7C", "`", "%60", "\\", "%5C")
