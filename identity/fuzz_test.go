package identity_test

import (
	"testing"
	"time"

	"github.com/etui-run/etui/identity"
)

// FuzzKeys: no text but a key itself is taken for it, and a key belongs to nobody but its
// person.
func FuzzKeys(f *testing.F) {
	keys := &identity.Keys{}
	secret, err := keys.Add(identity.Key{Name: "laptop", User: "ann"}, time.Unix(1e9, 0))
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"", "etui_", secret[:len(secret)-1], secret + " ", secret + "\x00", keys.List()[0].Hash, "laptop", " " + secret} {
		f.Add(s, s)
	}
	users, err := identity.New([]identity.User{{Name: "ann"}, {Name: "eve", Identities: []string{"key:other"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, said, name string) {
		if found, ok := keys.Find(said); ok && said != secret {
			t.Errorf("%q is taken for the key %s", said, found.Name)
		}
		own := &identity.Keys{}
		made, err := own.Add(identity.Key{Name: name, User: "ann"}, time.Unix(1e9, 0))
		if err != nil {
			return
		}
		found, ok := own.Find(made)
		if !ok || found.Name != name {
			t.Fatalf("the key %q is found as %q, %v", name, found.Name, ok)
		}
		if owner, ok := users.Owner(found); ok && owner.Name != "ann" {
			t.Errorf("ann's key %q belongs to %s", name, owner.Name)
		}
	})
}
