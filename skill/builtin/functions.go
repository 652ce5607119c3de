package builtin

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"

	"github.com/etui-run/etui/skill"
)

// Functions returns the functions that etui itself brings, by name.
func Functions() map[string]Function {
	return map[string]Function{"hash_text": Func(hashText)}
}

type hashIn struct {
	Text      string `json:"text" jsonschema:"the text, in UTF-8"`
	Algorithm string `json:"algorithm,omitempty" jsonschema:"sha256 (default), sha512, sha1 or md5"`
}

type hashOut struct {
	Algorithm string `json:"algorithm"`
	Hash      string `json:"hash"`
	Bytes     int    `json:"bytes"`
}

// hashText computes a checksum. The broken ones are there for comparing what
// others have published.
func hashText(_ context.Context, in hashIn) (hashOut, error) {
	text := []byte(in.Text)
	var sum []byte
	switch in.Algorithm {
	case "", "sha256":
		s := sha256.Sum256(text)
		in.Algorithm, sum = "sha256", s[:]
	case "sha512":
		s := sha512.Sum512(text)
		sum = s[:]
	case "sha1":
		s := sha1.Sum(text)
		sum = s[:]
	case "md5":
		s := md5.Sum(text)
		sum = s[:]
	default:
		return hashOut{}, fmt.Errorf("%w: there is no algorithm %q; use sha256, sha512, sha1 or md5", skill.ErrInvalidParams, in.Algorithm)
	}
	return hashOut{in.Algorithm, hex.EncodeToString(sum), len(text)}, nil
}
