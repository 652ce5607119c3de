package provider

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/builtin"
)

// functions returns the Go functions that YAML skills of the provider builtin can
// name. This is the one list of them.
func functions() map[string]builtin.Function {
	return map[string]builtin.Function{
		"new_id":    builtin.Func(newID),
		"hash_text": builtin.Func(hashText),
	}
}

// maxIDs is how many identifiers one call makes.
const maxIDs = 100

type idRequest struct {
	Count int `json:"count,omitempty" jsonschema:"how many, 1 to 100; 1 when it is left out"`
}

// newID makes random identifiers that are hard to guess.
func newID(_ context.Context, in idRequest) (map[string][]string, error) {
	if in.Count < 0 || in.Count > maxIDs {
		return nil, fmt.Errorf("count is %d; it must be 1 to %d: %w", in.Count, maxIDs, skill.ErrInvalidParams)
	}
	ids := make([]string, max(in.Count, 1))
	for i := range ids {
		ids[i] = rand.Text()
	}
	return map[string][]string{"ids": ids}, nil
}

type textToHash struct {
	Text string `json:"text" jsonschema:"the text, hashed as UTF-8"`
}

// hashText returns the SHA-256 of a text.
func hashText(_ context.Context, in textToHash) (map[string]string, error) {
	sum := sha256.Sum256([]byte(in.Text))
	return map[string]string{"sha256": hex.EncodeToString(sum[:])}, nil
}
