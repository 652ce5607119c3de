package identity_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/identity"
)

// database is what two etui share.
type database struct {
	mu      sync.Mutex
	value   json.RawMessage
	away    error
	watched []chan struct{}
}

func (d *database) Read(context.Context) (map[string]json.RawMessage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.value == nil {
		return nil, d.away
	}
	return map[string]json.RawMessage{identity.SharedList: slices.Clone(d.value)}, d.away
}

func (d *database) Change(_ context.Context, _ string, change func(json.RawMessage) (json.RawMessage, error)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	value, err := change(slices.Clone(d.value))
	if err = errors.Join(d.away, err); err != nil {
		return err
	}
	d.value = value
	for _, c := range d.watched {
		select {
		case c <- struct{}{}:
		default:
		}
	}
	return nil
}

func (d *database) Changed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watched = append(d.watched, make(chan struct{}, 1))
	return d.watched[len(d.watched)-1]
}

// follow opens the shared keys as a process does, and follows them until the test ends.
func follow(t *testing.T, d *database) *identity.Keys {
	t.Helper()
	keys, err := identity.OpenSharedKeys(d)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { keys.Run(ctx, func(error) {}) })
	t.Cleanup(func() {
		stop()
		done.Wait()
	})
	return keys
}

// wait returns when a key is known, or is not, at a process.
func wait(t *testing.T, keys *identity.Keys, secret string, known bool) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		if _, ok := keys.Find(secret); ok == known {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("after a minute the key is not known = %v", known)
		}
	}
}

// TestSharedKeys: a key that is made or revoked at one process is so at all. Without the
// database, nothing changes.
func TestSharedKeys(t *testing.T) {
	d := &database{}
	a, b := follow(t, d), follow(t, d)
	if a.Needed() {
		t.Error("a key is needed where there never was one")
	}
	laptop, err := a.Add(identity.Key{Name: "laptop", User: "ann"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	wait(t, b, laptop, true)
	if _, err := b.Add(identity.Key{Name: "Laptop"}, time.Now()); !errors.Is(err, identity.ErrInvalidKey) {
		t.Errorf("a second key with the name: %v", err)
	}
	phone, err := b.Add(identity.Key{Name: "phone"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	wait(t, a, phone, true)
	if err := a.Revoke("phone"); err != nil {
		t.Fatal(err)
	}
	wait(t, b, phone, false)
	if err := a.Revoke("lapto"); !errors.Is(err, identity.ErrNoKey) {
		t.Errorf("revoking an unknown key: %v", err)
	}
	d.mu.Lock()
	d.away = errors.New("away")
	d.mu.Unlock()
	if err := a.Revoke("laptop"); !errors.Is(err, identity.ErrAway) || !errors.Is(err, d.away) {
		t.Errorf("revoking without the database: %v", err)
	}
	if _, err := b.Reload(nil); !errors.Is(err, d.away) {
		t.Errorf("reading without the database: %v", err)
	}
	for _, k := range []*identity.Keys{a, b} {
		if _, ok := k.Find(laptop); !ok || !k.Needed() {
			t.Error("without the database, the keys are gone")
		}
	}
	if _, err := identity.OpenSharedKeys(d); !errors.Is(err, d.away) {
		t.Errorf("opening without the database: %v", err)
	}
	d.away = nil
	if err := a.Revoke("laptop"); err != nil {
		t.Fatal(err)
	}
	wait(t, b, laptop, false)
	if !b.Needed() {
		t.Error("revoking the last key opens the gateway")
	}
}

// TestMoveKeys: keys of files become those of the database, once.
func TestMoveKeys(t *testing.T) {
	d := &database{}
	secrets := map[string]string{}
	for _, n := range []string{"a", "b"} {
		file := filepath.Join(t.TempDir(), "keys.json")
		own, err := identity.OpenKeys(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"own-" + n, "Both"} {
			if secrets[name+n], err = own.Add(identity.Key{Name: name}, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		left, err := identity.MoveKeys(t.Context(), file, d)
		if want := map[string]int{"a": 0, "b": 1}[n]; err != nil || len(left) != want {
			t.Errorf("%s: left are %v, %v", n, left, err)
		}
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file is still there: %v", err)
		}
		if left, err := identity.MoveKeys(t.Context(), file, d); left != nil || err != nil {
			t.Errorf("without a file: %v, %v", left, err)
		}
	}
	keys, err := identity.OpenSharedKeys(d)
	if err != nil {
		t.Fatal(err)
	}
	for secret, want := range map[string]bool{"own-aa": true, "own-bb": true, "Botha": true, "Bothb": false} {
		if _, ok := keys.Find(secrets[secret]); ok != want {
			t.Errorf("%s is a key: %v, want %v", secret, ok, want)
		}
	}
}
