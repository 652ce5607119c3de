// Package names gives the IDs of a platform the names by which the engine knows them, and finds the chats that
// people name.
package names

import (
	"slices"
	"strings"
)

// Names are those of an account.
type Names struct {
	Account, Platform string
	// Local says that the account gives the IDs, not the whole platform.
	Local bool
	// Accounts are the names of all accounts.
	Accounts []string
}

// Scoped returns an ID of the platform as the engine knows it. Where the account gives the IDs,
// one that has a name of its own writes it before: irc:libera/ann. Without one, only an ID that
// would pass for one of another account has a name before it.
func (n Names) Scoped(id string) string {
	if !n.Local || n.Account == n.Platform && !n.foreign(id) {
		return id
	}
	return n.Account + "/" + id
}

// foreign reports whether an ID begins as those of some account.
func (n Names) foreign(id string) bool {
	name, _, ok := strings.Cut(id, "/")
	return ok && slices.Contains(n.Accounts, name)
}

// Unscoped returns the platform's ID for one of Scoped, unless it is another account's.
func (n Names) Unscoped(id string) (string, bool) {
	raw := id
	if n.Local {
		raw = strings.TrimPrefix(id, n.Account+"/")
	}
	return raw, n.Scoped(raw) == id
}
