package identity

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/text/cases"

	"github.com/etui-run/etui/internal/atomicfile"
	"github.com/etui-run/etui/phrase"
)

// Key is an API key. It belongs to a user, or to an operator, or may speak for others.
type Key struct {
	// Name is unique. The key is the identity key:NAME.
	Name string `json:"name"`
	// User is the name of the person to whom it belongs; empty means the user with the
	// identity key:NAME, if there is one.
	User string `json:"user,omitempty"`
	// Operator lets it change agents, skills and keys, from the gateway's own machine.
	Operator bool `json:"operator,omitempty"`
	// ForOthers lets it say whom a message is from.
	ForOthers bool `json:"for_others,omitempty"`
	// NoClientTools keeps it from bringing tools of its client.
	NoClientTools bool `json:"no_client_tools,omitempty"`
	// Created is when it was made.
	Created time.Time `json:"created"`

	// Hash is the SHA-256 of the key in hex. A key is random and long, so that a slow
	// hash would add nothing.
	Hash string `json:"hash"`
}

// The kinds of mistakes with keys.
var (
	ErrNoKey      = errors.New("no such key")
	ErrInvalidKey = errors.New("the key cannot be made")
)

const (
	// maxKeys is how many keys there may be; one more is refused.
	maxKeys = 1000
	// maxKeysFile bounds their file, in bytes.
	maxKeysFile = 1 << 20
	// keyPrefix begins every key, so that scanners of secrets recognise one.
	keyPrefix = "etui_"
)

// Keys are the API keys of a gateway, in a file that contains no key itself, or where several
// etui keep them together. The zero value has none and keeps none.
type Keys struct {
	file     string
	shared   SharedKeys // instead of the file
	changing sync.Mutex
	text     []byte // of the file, as it is in effect
	list     atomic.Pointer[[]Key]
}

// OpenKeys reads the keys of a file, which need not exist. A file that cannot be read
// is an error: without it nobody knows who may do what.
func OpenKeys(file string) (*Keys, error) {
	k := &Keys{file: file}
	if _, err := k.Reload(nil); err != nil {
		return nil, err
	}
	return k, nil
}

// Reload puts the keys in effect as they are kept now, and reports whether it was changed by hand. May, unless it is
// nil, is asked after the file was read whether its text can be trusted; if not, nothing
// changes. A file that cannot be used, or is gone, changes nothing either: the error says
// why.
func (k *Keys) Reload(may func() bool) (changed bool, err error) {
	k.changing.Lock()
	defer k.changing.Unlock()
	if k.shared != nil {
		return false, k.look()
	}
	text, err := readKeys(k.file)
	if err == nil && text == nil && k.text != nil {
		err = fmt.Errorf("the API keys in %s: the file is gone; the keys stay in effect until etui ends, revoke them with etui keys revoke", k.file)
	}
	if err != nil || bytes.Equal(text, k.text) || may != nil && !may() {
		return false, err
	}
	list, err := parseKeys(text)
	if err != nil {
		return false, fmt.Errorf("reading the API keys in %s: %w; mend the file, or remove it and make new keys",
			k.file, err)
	}
	k.text = text
	k.list.Store(&list)
	return true, nil
}

// readKeys returns the text of a file of keys; nil if there is no file.
func readKeys(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a file") // opening a pipe would wait for ever
	}
	var text []byte
	if err == nil {
		text, err = readBounded(file)
	}
	if err == nil && len(text) > maxKeysFile {
		err = errors.New("it is longer than 1 MiB")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the API keys in %s: %w; mend the file, or remove it and make new keys", file,
			err)
	}
	return text, nil
}

func readBounded(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxKeysFile+1))
}

// parseKeys reads the keys in a text, which people may have written.
func parseKeys(text []byte) (list []Key, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("there is something after the list")
	}
	names := map[string]bool{}
	for _, key := range list {
		name := cases.Fold().String(key.Name)
		switch problem := badKey(key); {
		case problem != "":
			return nil, errors.New(problem)
		case names[name]:
			return nil, fmt.Errorf("there are two keys %q", key.Name)
		}
		names[name] = true
	}
	return list, nil
}

// badKey says why a key cannot be; it is empty when it can.
func badKey(key Key) string {
	switch problem := badText(key.Name); {
	case problem != "":
		return fmt.Sprintf("the name %q %s", key.Name, problem)
	case strings.ContainsAny(key.Name, ":/"):
		return fmt.Sprintf("the name %q contains a colon or a slash", key.Name)
	case key.User != "" && key.Operator:
		return "it belongs to a user or is an operator's, not both"
	}
	return ""
}

// List returns the keys, in order of their names. The caller must not change them.
func (k *Keys) List() []Key {
	if k == nil || k.list.Load() == nil {
		return nil
	}
	return *k.list.Load()
}

// Needed reports whether clients need a key: there was one once. An empty list is not the
// same as none, so revoking the last key opens nothing.
func (k *Keys) Needed() bool { return k != nil && k.list.Load() != nil }

// Add makes a key with the name and the powers of one, and returns it. It is shown this
// once. The user must exist, which the caller checks.
func (k *Keys) Add(key Key, now time.Time) (secret string, err error) {
	if problem := badKey(key); problem != "" {
		return "", fmt.Errorf("%w: %s", ErrInvalidKey, problem)
	}
	secret = keyPrefix + rand.Text() + rand.Text()[:6]
	sum := sha256.Sum256([]byte(secret))
	key.Hash, key.Created = hex.EncodeToString(sum[:]), now.UTC().Truncate(time.Second)
	return secret, k.change(func(list []Key) ([]Key, error) {
		fold := cases.Fold()
		for _, other := range list {
			if fold.String(other.Name) == fold.String(key.Name) {
				return nil, phrase.Errorf("%w: there is a key %q already; revoke it first, or choose another name",
					ErrInvalidKey, other.Name)
			}
		}
		if len(list) >= maxKeys {
			return nil, phrase.Errorf("%w: there are %d keys, which is the most", ErrInvalidKey, len(list))
		}
		list = append(list, key)
		slices.SortFunc(list, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
		return list, nil
	})
}

// Revoke removes a key. Requests with it are refused from then on.
func (k *Keys) Revoke(name string) error {
	return k.change(func(list []Key) ([]Key, error) {
		i := slices.IndexFunc(list, func(key Key) bool { return key.Name == name })
		if i < 0 {
			return nil, phrase.Errorf("key %q: %w%s", name, ErrNoKey, phrase.Near(name, func(yield func(string) bool) {
				for _, key := range list {
					if !yield(key.Name) {
						return
					}
				}
			}))
		}
		return slices.Delete(list, i, i+1), nil
	})
}

// change stores a changed list, and then puts it in effect.
func (k *Keys) change(next func([]Key) ([]Key, error)) error {
	k.changing.Lock()
	defer k.changing.Unlock()
	if k.shared != nil {
		return k.changeShared(next)
	}
	list, err := next(slices.Clone(k.List()))
	if err != nil {
		return err
	}
	if k.file != "" {
		switch text, err := readKeys(k.file); {
		case err != nil:
			return err
		case text != nil && !bytes.Equal(text, k.text): // it would be lost
			return fmt.Errorf("storing the API keys: %s was changed by hand and is not in effect; try again in some seconds, or see etui's log for what is wrong with it", k.file)
		}
		text, err := json.MarshalIndent(list, "", "  ")
		text = append(text, '\n')
		if err == nil {
			err = atomicfile.Write(k.file, text)
		}
		if err != nil {
			return fmt.Errorf("storing the API keys: %w", err)
		}
		k.text = text
	}
	k.list.Store(&list)
	return nil
}

// Find returns the key that a client presents. It takes the same time for every wrong
// one, and looks at all keys for a right one.
func (k *Keys) Find(secret string) (found Key, ok bool) {
	sum := sha256.Sum256([]byte(secret))
	said := []byte(hex.EncodeToString(sum[:]))
	for _, key := range k.List() {
		if subtle.ConstantTimeCompare(said, []byte(key.Hash)) == 1 {
			found, ok = key, true
		}
	}
	return found, ok
}

// Owner returns the person to whom a key belongs; nil means nobody. It reports false
// when the key may not be used: its person is gone, two persons claim it, or it belongs
// to nobody and has no power of its own.
func (u *Users) Owner(key Key) (*User, bool) {
	claimed := u.ByIdentity(KeyChannel + ":" + key.Name)
	if key.User == "" {
		return claimed, claimed != nil || key.Operator || key.ForOthers
	}
	user := u.ByName(key.User)
	return user, user != nil && (claimed == nil || claimed == user)
}
