package oauth

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/etui-run/etui/internal/atomicfile"
)

// Shelf is where a [Vault] keeps its sealed logins, a value for each server.
type Shelf interface {
	// Read returns all values.
	Read(ctx context.Context) (map[string]json.RawMessage, error)
	// Change replaces the value of a server by what change makes of it, while nobody else
	// changes it. Nil is nothing. It may run change twice.
	Change(ctx context.Context, server string, change func(json.RawMessage) (json.RawMessage, error)) error
}

// Vault keeps logins, sealed with AES-256 in GCM. A login opens only under the server and the
// person that it was sealed for. A Vault is safe for concurrent use.
type Vault struct {
	shelf Shelf
	key   func() ([]byte, error)
}

// KeyVariable is the environment variable with the key of the logins. Processes that share a
// database need the same one.
const KeyVariable = "ETUI_LOGIN_KEY"

// shortestKey is how many bytes the variable needs at least.
const shortestKey = 24

// NewVault returns a vault. Its key comes from [KeyVariable], or from a file that is made when
// the first login is kept and that only this user can read.
func NewVault(shelf Shelf, keyFile string, getenv func(string) string) *Vault {
	return &Vault{shelf, func() ([]byte, error) {
		text := getenv(KeyVariable)
		switch {
		case text == "":
			return readKey(keyFile)
		case len(text) < shortestKey:
			return nil, fmt.Errorf("%s has fewer than %d characters: make one with openssl rand -hex 32",
				KeyVariable, shortestKey)
		}
		sum := sha256.Sum256([]byte(text))
		return sum[:], nil
	}}
}

// readKey returns the key in a file, which it makes if there is none.
func readKey(path string) ([]byte, error) {
	unlock, err := lock(context.Background(), path)
	if err != nil {
		return nil, err
	}
	defer unlock()
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // it never fails
		err = atomicfile.Write(path, key)
	}
	if err == nil && len(key) != sha256.Size {
		err = fmt.Errorf("%s is no key: remove it, and log in again", path)
	}
	return key, err
}

// maxPeople is how many logins a server may have.
const maxPeople = 10_000

// grant is a login: what an authorization server has given for a resource.
type grant struct {
	Issuer   string `json:"issuer"`
	TokenURL string `json:"token_url"`
	Resource string `json:"resource"`
	// Vouched says that the issuer's own document named TokenURL, on another host.
	Vouched bool `json:"vouched,omitempty"`

	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret,omitempty"`
	AuthStyle    int    `json:"auth_style,omitempty"`

	Access  string    `json:"access,omitempty"`
	Refresh string    `json:"refresh,omitempty"`
	Expiry  time.Time `json:"expiry,omitzero"`
	// Scopes were granted. Wanted are those that the server asked for later.
	Scopes []string `json:"scopes,omitempty"`
	Wanted []string `json:"wanted,omitempty"`

	sealed []byte // as it was read
}

// serverLogins is the value of a server: the sealed logins, by person. The shared one has no name.
type serverLogins struct {
	People map[string][]byte `json:"people"`
}

func (v *Vault) seal(server, person string) (cipher.AEAD, []byte, error) {
	key, err := v.key()
	if err != nil {
		return nil, nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, nil, err
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	return seal, []byte(server + "\x00" + person), err
}

// errOtherKey is the error of a login that the key does not open.
var errOtherKey = errors.New("was sealed with another key")

// get returns the login of a person; nil if there is none.
func (v *Vault) get(ctx context.Context, server, person string) (*grant, error) {
	all, err := v.shelf.Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the logins: %w", err)
	}
	var k serverLogins
	if raw := all[server]; raw == nil {
		return nil, nil
	} else if err := json.Unmarshal(raw, &k); err != nil {
		return nil, fmt.Errorf("the logins of %s: %w", server, err)
	}
	sealed := k.People[person]
	if sealed == nil {
		return nil, nil
	}
	seal, about, err := v.seal(server, person)
	if err != nil {
		return nil, err
	}
	plain, err := seal.Open(nil, nil, sealed, about)
	if err != nil {
		return nil, fmt.Errorf("the login at %s %w: give all etui with this database the same %s, or log in again",
			server, errOtherKey, KeyVariable)
	}
	g := grant{sealed: sealed}
	return &g, json.Unmarshal(plain, &g)
}

// put keeps the login of a person, also where there is none.
func (v *Vault) put(ctx context.Context, server, person string, g *grant) error {
	return v.keep(ctx, server, person, g, func([]byte) bool { return true })
}

// replace keeps a login in place of the one that was read. If that has been removed or replaced
// meanwhile, it keeps nothing.
func (v *Vault) replace(ctx context.Context, server, person string, g *grant) error {
	return v.keep(ctx, server, person, g, func(now []byte) bool { return now != nil && bytes.Equal(now, g.sealed) })
}

// keep keeps a login if may, which gets the sealed one that there is now, allows it.
func (v *Vault) keep(ctx context.Context, server, person string, g *grant, may func([]byte) bool) error {
	plain, err := json.Marshal(g)
	if err != nil {
		return err
	}
	seal, about, err := v.seal(server, person)
	if err != nil {
		return err
	}
	sealed := seal.Seal(nil, nil, plain, about)
	return v.edit(ctx, server, func(k *serverLogins) error {
		if !may(k.People[person]) {
			return nil
		}
		if k.People[person] == nil && len(k.People) >= maxPeople {
			return fmt.Errorf("%s has %d logins, and no more are kept", server, maxPeople)
		}
		k.People[person] = sealed
		return nil
	})
}

// remove removes the logins of people at a server, and returns how many there were.
func (v *Vault) remove(ctx context.Context, server string, people ...string) (n int, err error) {
	err = v.edit(ctx, server, func(k *serverLogins) error {
		n = 0
		for _, person := range people {
			if k.People[person] != nil {
				delete(k.People, person)
				n++
			}
		}
		return nil
	})
	return n, err
}

func (v *Vault) edit(ctx context.Context, server string, change func(*serverLogins) error) error {
	return v.shelf.Change(ctx, server, func(raw json.RawMessage) (json.RawMessage, error) {
		var k serverLogins
		if raw != nil {
			if err := json.Unmarshal(raw, &k); err != nil {
				return nil, fmt.Errorf("the logins of %s: %w", server, err)
			}
		}
		if k.People == nil {
			k.People = map[string][]byte{}
		}
		if err := change(&k); err != nil || len(k.People) == 0 {
			return nil, err
		}
		return json.Marshal(k)
	})
}

// Erase removes the logins of a person at all servers.
func (v *Vault) Erase(ctx context.Context, names []string) (map[string]int, error) {
	count := map[string]int{"logins": 0}
	all, err := v.shelf.Read(ctx)
	for server := range all {
		if err != nil {
			break
		}
		var n int
		n, err = v.remove(ctx, server, names...)
		count["logins"] += n
	}
	return count, err
}

// Clear removes all logins at a server, and returns how many there were.
func (v *Vault) Clear(ctx context.Context, server string) (n int, err error) {
	err = v.edit(ctx, server, func(k *serverLogins) error {
		n = len(k.People)
		clear(k.People)
		return nil
	})
	return n, err
}

// File is a [Shelf] in a file, which several processes may share.
type File string

// maxFile is how many bytes of a file are read.
const maxFile = 64 << 20

// Read implements [Shelf].
func (f File) Read(context.Context) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	info, err := os.Stat(string(f))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return all, nil
	case err != nil:
		return nil, err
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s has more than %d bytes", f, maxFile)
	}
	text, err := os.ReadFile(string(f))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", f, err)
	}
	return all, nil
}

// Change implements [Shelf].
func (f File) Change(ctx context.Context, server string, change func(json.RawMessage) (json.RawMessage, error)) error {
	unlock, err := lock(ctx, string(f))
	if err != nil {
		return err
	}
	defer unlock()
	all, err := f.Read(ctx)
	if err != nil {
		return err
	}
	value, err := change(all[server])
	switch {
	case err != nil:
		return err
	case value != nil:
		all[server] = value
	case all[server] == nil:
		return nil
	default:
		delete(all, server)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return atomicfile.Write(string(f), text)
}

const lockWait = 5 * time.Second

// lock locks a file for this process.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	l := flock.New(path+".lock", flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	if ok, err := l.TryLockContext(ctx, lockWait/200); !ok {
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { _ = l.Close() }, nil
}

// union returns the elements of both lists, each once, in their order.
func union(a, b []string) []string {
	var all []string
	seen := map[string]bool{}
	for _, list := range [][]string{a, b} {
		for _, one := range list {
			if one = strings.TrimSpace(one); one != "" && !seen[one] {
				all, seen[one] = append(all, one), true
			}
		}
	}
	return all
}
