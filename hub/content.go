package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
)

// contentHash is the digest of all files of a skill together, as ClawHub makes it
// of a folder on GitHub: a line for each file, with its path, size and SHA-256.
// Hidden files are left out.
func contentHash(folder *os.Root, files map[string]string) (string, error) {
	var names []string
	for name := range files {
		hidden := strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
		if !hidden && !strings.Contains("/"+name, "/node_modules/") {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, collate)
	lines := make([]string, len(names))
	for i, name := range names {
		info, err := folder.Stat(name)
		if err != nil {
			return "", err
		}
		lines[i] = fmt.Sprintf("%s\x00%d\x00%s", name, info.Size(), files[name])
	}
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:]), nil
}

// order is that of characters in the root collation of Unicode, as far as names
// of files have them: marks, then digits, then letters without regard to case.
const order = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"

// collate compares names as JavaScript's localeCompare does, for ASCII; what is
// beyond comes after it, by its number.
func collate(a, b string) int {
	rank := func(r rune) int {
		if i := strings.IndexRune(order, r); i >= 0 {
			return i
		}
		return len(order) + int(r)
	}
	folded := func(s string) []rune { return []rune(strings.ToLower(s)) }
	if c := slices.CompareFunc(folded(a), folded(b), func(x, y rune) int { return rank(x) - rank(y) }); c != 0 {
		return c
	}
	return -strings.Compare(a, b) // lower case comes first
}
