package hub

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// manifestFile is the file that makes a folder a skill.
const manifestFile = "SKILL.md"

// plan says where each entry of a package goes below the skill's folder; an empty
// path means that it is left out. A package is refused when one of its names is
// unsafe on any system, when two mean one file on some system, or when it is no
// skill. slug may be empty: then any one folder around everything is taken away.
func plan(entries []entry, slug string, packed int64) ([]string, error) {
	if len(entries) > maxEntries {
		return nil, tooMany(maxEntries)
	}
	paths := make([]string, len(entries))
	var total int64
	for i, e := range entries {
		if leftOut(e.name) {
			continue
		}
		paths[i] = strings.TrimPrefix(e.name, "./")
		if err := checkPath(paths[i]); err != nil {
			return nil, err
		}
		if e.size > maxFile {
			return nil, fmt.Errorf("%s has %s, at most %s are allowed", shown(e.name), megabytes(e.size), megabytes(maxFile))
		}
		if total += e.size; total > maxUnpacked {
			return nil, fmt.Errorf("its files have more than %s together", megabytes(maxUnpacked))
		}
	}
	if packed > 0 && total > freeRatio && total/packed > maxRatio {
		return nil, fmt.Errorf("it grows by more than %d times when it is unpacked", maxRatio)
	}
	if err := apart(entries, paths); err != nil {
		return nil, err
	}
	strip(entries, paths, slug)
	for i, p := range paths {
		if p == manifestFile && !entries[i].folder {
			return paths, nil
		}
	}
	return nil, fmt.Errorf("it has no %s at its top", manifestFile)
}

// leftOut are files that systems add by themselves, and etui's own record.
func leftOut(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(name, "__MACOSX/") || name == "__MACOSX" || base == ".DS_Store" || base == originFile
}

// checkPath reports what is unsafe about a path, on whatever system.
func checkPath(name string) error {
	unsafe := func(why string) error { return fmt.Errorf("unsafe name %s in the package: %s", shown(name), why) }
	switch {
	case name == "":
		return unsafe("it is empty")
	case len(name) > maxPath:
		return unsafe("it is too long")
	case !utf8.ValidString(name):
		return unsafe("it is not UTF-8")
	case strings.ContainsAny(name, `\:`):
		return unsafe("it holds a backslash or a colon")
	case strings.HasPrefix(name, "/"), strings.HasPrefix(name, "~"):
		return unsafe("it does not begin in the package")
	case strings.Count(name, "/") > maxDepth:
		return unsafe("it lies too deep")
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }):
		return unsafe("it holds characters that are not shown")
	}
	// Some systems and programs read compatible characters as plain ones.
	plain := slashes.Replace(norm.NFKC.String(name))
	if strings.Count(plain, "/") != strings.Count(name, "/") || strings.Contains(plain, `\`) {
		return unsafe("it holds a character that stands for a slash")
	}
	for element := range strings.SplitSeq(plain, "/") {
		if why := checkName(element); why != "" {
			return unsafe(why)
		}
	}
	return nil
}

// slashes are what Windows may make slashes of, beside compatible characters.
var slashes = strings.NewReplacer("\u2044", "/", "\u2215", "/", "\u2216", `\`)

// checkName says what is unsafe about one element of a path.
func checkName(name string) string {
	switch base, _, _ := strings.Cut(strings.ToLower(name), "."); {
	case name == "", name == ".", name == "..":
		return "it holds an empty, . or .. element"
	case len(name) > maxName:
		return "an element is too long"
	case strings.HasSuffix(name, "."), strings.HasSuffix(name, " "), strings.HasPrefix(name, " "):
		return "an element begins or ends with a blank, or ends with a dot"
	case strings.HasPrefix(name, "-"):
		return "an element begins with a dash, as options of programs do"
	case strings.EqualFold(name, ".git"), strings.HasPrefix(strings.ToLower(name), "git~"):
		return "a Git repository inside a package can run programs"
	case device(strings.TrimRight(base, " ")):
		return "Windows has a device of that name"
	}
	return ""
}

// device reports names that Windows keeps for itself, with any extension.
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

// apart reports two names that are one on a system that ignores case or the form
// of accents, and names that are a file here and a folder there.
func apart(entries []entry, paths []string) error {
	type use struct {
		spelling string
		folder   bool
	}
	seen := map[string]use{}
	folding := cases.Fold()
	put := func(name string, folder, again bool) error {
		key := norm.NFC.String(folding.String(norm.NFD.String(name)))
		old, ok := seen[key]
		switch {
		case !ok:
			seen[key] = use{name, folder}
		case old.spelling != name:
			return fmt.Errorf("%s and %s are the same file on some systems", shown(old.spelling), shown(name))
		case old.folder != folder:
			return fmt.Errorf("%s is file and folder at once", shown(name))
		case !folder || !again:
			return fmt.Errorf("%s is in the package twice", shown(name))
		}
		return nil
	}
	for i, p := range paths {
		if p == "" {
			continue
		}
		for at, r := range p {
			if r == '/' {
				if err := put(p[:at], true, true); err != nil {
					return err
				}
			}
		}
		if err := put(p, entries[i].folder, entries[i].folder); err != nil {
			return err
		}
	}
	return nil
}

// strip takes the folder away that is around the whole package, when it has the
// skill's name.
func strip(entries []entry, paths []string, slug string) {
	top := ""
	for i, p := range paths {
		if p == "" {
			continue
		}
		first, _, inside := strings.Cut(p, "/")
		if !inside && !entries[i].folder || top != "" && first != top || slug != "" && first != slug {
			return
		}
		top = first
	}
	for i, p := range paths {
		if p != "" {
			paths[i] = strings.TrimPrefix(strings.TrimPrefix(p, top), "/")
		}
	}
}

// checkSlug reports what is wrong with a skill's name as that of a folder.
func checkSlug(slug string) error {
	bad := func(r rune) bool {
		return r != '-' && r != '_' && !unicode.IsDigit(r) && (!unicode.IsLetter(r) || unicode.IsUpper(r))
	}
	switch {
	case slug == "":
		return errors.New("the skill has no name")
	case utf8.RuneCountInString(slug) > 64, !utf8.ValidString(slug), strings.ContainsFunc(slug, bad), strings.HasPrefix(slug, "-"), device(slug):
		return fmt.Errorf("%s cannot be the name of a skill: it has 1 to 64 lower-case letters, digits, '-' and '_'", shown(slug))
	}
	return nil
}
