package irc

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The codes for bold, italic and struck text: each turns it on and off.
const (
	bold   = "\x02"
	italic = "\x1d"
	struck = "\x1e"
)

// width is how many bytes of text a line to target has, so that what the server passes on
// has 512: it puts our nick, user and host in front, of which the host may change at any time.
func width(nick, target string) int {
	const user, host = 20, 64
	return 512 - len(":!@ PRIVMSG  :\r\n") - len(nick) - user - host - len(target)
}

// wrap cuts a line into lines of at most width bytes: between words, or else between
// characters. What is bold stays bold on the next line.
func wrap(line string, width int) []string {
	var out []string
	on := ""
	for len(on)+len(line) > width {
		at := cut(line, width-len(on))
		if part := strings.TrimRight(line[:at], " "); part != "" {
			out = append(out, on+part)
		}
		on = styled(on, line[:at])
		line = strings.TrimLeft(line[at:], " ")
	}
	if strings.Trim(line, bold+italic+struck+" ") != "" {
		out = append(out, on+line)
	}
	return out
}

// cut returns where to cut a line that is longer than most.
func cut(line string, most int) int {
	if line[most] == ' ' {
		return most
	}
	if at := strings.LastIndexByte(line[:most], ' '); at > most/4 {
		return at + 1
	}
	at := most
	for range 32 { // not between a character and what belongs to it, unless that has no end
		for !utf8.RuneStart(line[at]) {
			at--
		}
		next, _ := utf8.DecodeRuneInString(line[at:])
		before, size := utf8.DecodeLastRuneInString(line[:at])
		if !unicode.In(next, unicode.M, unicode.Cf, unicode.Sk) && before != 0x200D || at-size <= most/2 {
			return at
		}
		at -= size
	}
	return at
}

// styled returns the codes that are on after a text, of those that were on before.
func styled(on, text string) string {
	for i := range len(text) {
		switch code := text[i : i+1]; code {
		case bold, italic, struck:
			if strings.Contains(on, code) {
				on = strings.ReplaceAll(on, code, "")
			} else {
				on += code
			}
		}
	}
	return on
}
