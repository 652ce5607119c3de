package identity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/cases"
)

// SharedKeys is where several etui keep their API keys together: under the name [SharedList] a list
// as JSON, without the keys themselves. Those who never had a key have none.
type SharedKeys interface {
	Read(ctx context.Context) (map[string]json.RawMessage, error)
	// Change replaces a list by what change makes of it, while nobody else changes it. It may
	// run change twice.
	Change(ctx context.Context, name string, change func(json.RawMessage) (json.RawMessage, error)) error
	// Changed receives a value when keys may have changed.
	Changed() <-chan struct{}
}

// SharedList is the name of the list.
const SharedList = "list"

// ErrAway says that the keys that several etui share cannot be changed now, because the place
// where they are does not answer.
var ErrAway = errors.New("the API keys cannot be stored")

// maxWait is how long a look at the shared keys, or a change of them, may take.
const maxWait = 5 * time.Second

// OpenSharedKeys reads the keys that several etui share. As with a file, an error means that
// nobody knows who may do what. [Keys.Run] follows what the others change.
func OpenSharedKeys(kept SharedKeys) (*Keys, error) {
	k := &Keys{shared: kept}
	if _, err := k.Reload(nil); err != nil {
		return nil, err
	}
	return k, nil
}

// Run puts changes of shared keys in effect until ctx ends. While they cannot be read, those
// that were read last stay in effect, and report is called with the reason, once.
func (k *Keys) Run(ctx context.Context, report func(error)) {
	if k.shared == nil {
		return
	}
	changed, failing := k.shared.Changed(), false
	for {
		_, err := k.Reload(nil)
		if err != nil && !failing && ctx.Err() == nil {
			report(err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// look puts the shared keys in effect. The caller holds the lock.
func (k *Keys) look() error {
	ctx, cancel := context.WithTimeout(context.Background(), maxWait)
	defer cancel()
	all, err := k.shared.Read(ctx)
	text := all[SharedList]
	if err == nil && text == nil && k.text != nil {
		err = errors.New("they are gone from the database; the keys stay in effect until etui ends")
	}
	if err == nil && !bytes.Equal(text, k.text) {
		var list []Key
		if list, err = parseKeys(text); err == nil {
			k.text = text
			k.list.Store(&list)
		}
	}
	if err != nil {
		return fmt.Errorf("reading the API keys: %w", err)
	}
	return nil
}

// changeShared is change of shared keys. The caller holds the lock.
func (k *Keys) changeShared(next func([]Key) ([]Key, error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), maxWait)
	defer cancel()
	var refused error // by next: it says itself what is wrong
	err := changeList(ctx, k.shared, func(list []Key) ([]Key, error) {
		list, refused = next(list)
		return list, refused
	})
	switch {
	case refused != nil:
		return refused
	case err != nil:
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	return k.look()
}

func changeList(ctx context.Context, kept SharedKeys, change func([]Key) ([]Key, error)) error {
	return kept.Change(ctx, SharedList, func(text json.RawMessage) (json.RawMessage, error) {
		var list []Key
		var err error
		if text != nil {
			list, err = parseKeys(text)
		}
		if err == nil {
			list, err = change(list)
		}
		if err != nil {
			return nil, err
		}
		if list == nil {
			list = []Key{} // there was a key once
		}
		return json.Marshal(list)
	})
}

// MoveKeys adds the keys of a file to those that several etui share, and renames the file. It
// returns the names of those that were not added, because another key has the name already.
// Without a file it does nothing.
func MoveKeys(ctx context.Context, file string, to SharedKeys) (left []string, err error) {
	text, err := readKeys(file)
	if err != nil || text == nil {
		return nil, err
	}
	added, err := parseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("reading the API keys in %s: %w; mend the file, or remove it and make new keys", file,
			err)
	}
	err = changeList(ctx, to, func(list []Key) ([]Key, error) {
		left = nil
		fold := cases.Fold()
		for _, key := range added {
			at := slices.IndexFunc(list, func(other Key) bool { return fold.String(other.Name) == fold.String(key.Name) })
			switch {
			case at < 0 && len(list) < maxKeys:
				list = append(list, key)
			case at < 0 || list[at].Hash != key.Hash:
				left = append(left, key.Name)
			}
		}
		slices.SortFunc(list, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
		return list, nil
	})
	if err == nil {
		err = os.Rename(file, file+".moved")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("moving the API keys of %s into the database: %w", file, err)
	}
	return left, nil
}
