package install

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/etui-run/etui/skill"
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
	d, warnings, err := markdown.Parse("", text)
	name, description := d.Name, d.Description
	if err != nil {
		return "", err
	}
	for _, w := range warnings {
		if ambiguous(w) {
			return "", w
		}
	}
	if err := checkSlug(name); err != nil {
		return "", err
	}
	if want != "" && name != want {
		return "", fmt.Errorf("it names the skill %s, not %s: a skill must not take another's place", shown(name), shown(want))
	}
	if length := len([]rune(description)); length > maxDescription {
		return "", fmt.Errorf("the description has %d characters, at most %d are allowed", length, maxDescription)
	}
	if description == "" {
		return "", errors.New("there is no description: models choose by it")
	}
	return name, nil
}

// ambiguous reports what other programs may read in another way: a package must
// not have one name or description here and another one where it was judged. The
// one mistake that everybody makes, an unquoted colon, is none.
func ambiguous(w skill.Problem) bool {
	broken := strings.HasPrefix(w.Message, "the frontmatter is not valid YAML") && !strings.Contains(w.Message, "mapping values")
	return broken || strings.Contains(w.Message, "occurs twice")
}
