//go:build unix

package clientconfig

import (
	"os"
	"syscall"

	"github.com/etui-run/etui/phrase"
)

// ownedByUs refuses a file of another user: a file that replaces it would be ours.
func ownedByUs(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return phrase.Errorf("%s belongs to another user (uid %d); run this as that user", file, st.Uid)
	}
	return nil
}
