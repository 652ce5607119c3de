package hub

import (
	"fmt"
	"os"

	"github.com/etui-run/etui/skill/markdown"
)

const (
	maxManifest    = 1 << 20 // bytes of a SKILL.md
	maxDescription = 1024    // characters of a description, by the standard
)

// readManifest reads a SKILL.md as leniently as the loader does.
func readManifest(text []byte) (name, description string, err error) {
	d, _, err := markdown.Parse("", text)
	return d.Name, d.Description, err
}

// checkManifest reads a skill's SKILL.md, and holds it against the wanted name; an
// empty one takes the manifest's.
func checkManifest(folder *os.Root, want string) (name string, err error) {
	text, err := readBounded(folder, manifestFile, maxManifest)
	if err == nil {
		name, err = manifestName(text, want)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", manifestFile, err)
	}
	return name, nil
}

func manifestName(text []byte, want string) (string, error) {
	d, _, err := markdown.Parse("", text)
	switch length := len([]rune(d.Description)); {
	case err != nil:
		return "", err
	case d.Ambiguous != nil:
		// A package must not have one name or description here and another one where
		// it was judged.
		return "", *d.Ambiguous
	case checkSlug(d.Name) != nil:
		return "", checkSlug(d.Name)
	case want != "" && d.Name != want:
		return "", fmt.Errorf("it names the skill %s, not %s: a skill must not take another's place", shown(d.Name), shown(want))
	case length > maxDescription:
		return "", fmt.Errorf("the description has %d characters, at most %d are allowed", length, maxDescription)
	}
	return d.Name, nil
}
