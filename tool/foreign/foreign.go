// Package foreign makes tools of definitions that others wrote: servers, whose authors nobody here
// can ask for a correction.
//
// [Name] gives a tool a name that models accept. [Mend] repairs a schema until arguments can be
// checked against it, and [Reading] is what models read of the result. All three depend on their
// input alone, not on other tools or on their order.
//
// Mending follows what the author meant: it adds no demand, and drops a part of a schema only if
// that part has no meaning. Nothing is fetched.
package foreign

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// hashed is how many characters of a hash tell a changed name from others.
const hashed = 6

// notInNames is what names of tools cannot have.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// Name returns a name of 1 to most letters, digits, '_' and '-' for a tool. A name that is fit stays
// as it is. Others keep the characters that are, and end with a part of their hash.
func Name(original string, most int) string {
	return safe(original, most, notInNames, "tool")
}

// safe replaces what is unfit in a name.
func safe(original string, most int, unfit *regexp.Regexp, empty string) string {
	if original != "" && len(original) <= most && !unfit.MatchString(original) {
		return original
	}
	sum := sha256.Sum256([]byte(original))
	hash := hex.EncodeToString(sum[:])[:min(most, hashed)]
	plain := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1 // the accent of a letter
		}
		return r
	}, norm.NFKD.String(original))
	name := strings.Trim(unfit.ReplaceAllString(plain, "_"), "_-.")
	if name == "" {
		name = empty
	}
	if room := most - len(hash) - 1; len(name) > room {
		name = strings.TrimRight(name[:max(0, room)], "_-.")
	}
	if name == "" {
		return hash
	}
	return name + "_" + hash
}
