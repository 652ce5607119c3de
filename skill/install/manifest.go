package install

import (
	"bytes"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v4"
)

// readManifest reads the frontmatter of a SKILL.md.
func readManifest(text []byte) (name, description string, err error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(text, []byte("---\n"))
	front, _, closed := bytes.Cut(rest, []byte("\n---"))
	if !ok || !closed {
		return "", "", errors.New("it has no frontmatter between lines of ---")
	}
	var m struct{ Name, Description string }
	if err := yaml.Unmarshal(front, &m); err != nil {
		return "", "", fmt.Errorf("its frontmatter is not YAML: %w", err)
	}
	return m.Name, m.Description, nil
}
