package modeltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/etui-run/etui/internal/plainjson"
)

// object is a JSON object of a provider's protocol.
type object map[string]any

// marshal writes JSON as providers do, without escaping characters.
func marshal(v any) []byte {
	raw, err := plainjson.Encode(v)
	if err != nil {
		panic(err) // a mistake of this package
	}
	return raw
}

// strict decodes JSON and rejects unknown fields.
func strict(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}

var (
	openaiName    = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	anthropicName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	imageTypes    = regexp.MustCompile(`^image/(png|jpeg|gif|webp)$`)
	anthropicID   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
)

// checkSchema checks that a tool's parameters are a schema of type object.
func checkSchema(tool string, raw json.RawMessage) error {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &head); err != nil || head.Type != "object" {
		return fmt.Errorf("tool %s: the parameters are not a schema of type object", tool)
	}
	return nil
}

// calls checks that every call of an assistant is answered.
type calls struct {
	open  []string
	seen  map[string]bool
	tools map[string]bool // those of the request, for references
}

func (c *calls) ask(id string) error {
	if c.seen[id] {
		return fmt.Errorf("two calls have the ID %q", id)
	}
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	c.seen[id] = true
	c.open = append(c.open, id)
	return nil
}

func (c *calls) answer(id string) error {
	for i, open := range c.open {
		if open == id {
			c.open = append(c.open[:i:i], c.open[i+1:]...)
			return nil
		}
	}
	return fmt.Errorf("a result answers %q, which no call before it asked for", id)
}

func (c *calls) done() error {
	if len(c.open) > 0 {
		return fmt.Errorf("the calls %q have no result", c.open)
	}
	return nil
}
