package archive

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/etui-run/etui/phrase"
)

// CheckPath reports what makes a path unsafe on any system.
func CheckPath(name string) error {
	why := ""
	switch {
	case name == "":
		why = "it is empty"
	case len(name) > maxPath:
		why = "it is too long"
	case !utf8.ValidString(name):
		why = "it is not UTF-8"
	case strings.ContainsAny(name, `\:`):
		why = "it contains a backslash or a colon"
	case strings.HasPrefix(name, "/"), strings.HasPrefix(name, "~"):
		why = "it leads out of the package"
	case strings.Count(name, "/") > maxDepth:
		why = "it has too many folders"
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }):
		why = "it contains invisible characters"
	default:
		why = checkElements(name)
	}
	if why != "" {
		return phrase.Errorf("unsafe name %s in the package: %s", Quote(name), phrase.Text(why))
	}
	return nil
}

func checkElements(name string) string {
	// Some systems and programs read compatible characters as plain ones.
	plain := slashes.Replace(norm.NFKC.String(name))
	if strings.Count(plain, "/") != strings.Count(name, "/") || strings.Contains(plain, `\`) {
		return "it contains a character that some systems read as a slash"
	}
	for element := range strings.SplitSeq(plain, "/") {
		lower := strings.ToLower(element)
		base, _, _ := strings.Cut(lower, ".")
		switch {
		case element == "", element == ".", element == "..":
			return "it contains an empty, . or .. element"
		case len(element) > maxName:
			return "an element is too long"
		case strings.HasSuffix(element, "."), strings.HasSuffix(element, " "), strings.HasPrefix(element, " "):
			return "an element begins or ends with a blank, or ends with a dot"
		case strings.HasPrefix(element, "-"):
			return "an element begins with a dash, like an option of a program"
		case lower == ".git", strings.HasPrefix(lower, "git~"):
			return "a Git repository inside a package can run programs"
		case device(strings.TrimRight(base, " ")):
			return "Windows has a device of that name"
		}
	}
	return ""
}

// slashes are characters, beside compatible ones, that Windows may read as
// slashes.
var slashes = strings.NewReplacer("\u2044", "/", "\u2215", "/", "\u2216", `\`)

// device reports names that Windows reserves, with any extension.
func device(base string) bool {
	switch base {
	case "con", "prn", "aux", "nul", "conin$", "conout$", "clock$":
		return true
	}
	rest, ok := strings.CutPrefix(base, "com")
	if !ok {
		rest, ok = strings.CutPrefix(base, "lpt")
	}
	return ok && utf8.RuneCountInString(rest) == 1 && strings.ContainsAny(rest, "0123456789¹²³")
}

// distinct refuses names that are one file on a system that ignores case or the
// form of accents, and names that are a file here and a folder there.
func distinct(entries []Entry, paths []string) error {
	type use struct {
		spelling string
		folder   bool
	}
	seen := map[string]use{}
	folding := cases.Fold()
	put := func(name string, folder bool) error {
		key := norm.NFC.String(folding.String(norm.NFD.String(name)))
		old, ok := seen[key]
		switch {
		case !ok:
			seen[key] = use{name, folder}
		case old.spelling != name:
			return phrase.Errorf("%s and %s are the same file on some systems", Quote(old.spelling), Quote(name))
		case old.folder != folder:
			return phrase.Errorf("%s is file and folder at once", Quote(name))
		case !folder:
			return phrase.Errorf("%s is in the package twice", Quote(name))
		}
		return nil
	}
	for i, p := range paths {
		if p == "" {
			continue
		}
		for at, r := range p {
			if r == '/' {
				if err := put(p[:at], true); err != nil {
					return err
				}
			}
		}
		if err := put(p, entries[i].Folder); err != nil {
			return err
		}
	}
	return nil
}
