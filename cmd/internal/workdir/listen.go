package workdir

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/phrase"
)

// ErrInUse says that another process listens at an address.
var ErrInUse = phrase.Errorf("is in use")

// Listen opens the port that a key of the configuration names.
func Listen(ctx context.Context, address, key string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		variable := config.Prefix + strings.ToUpper(key)
		if key == "listen" {
			return nil, phrase.Errorf("the address %s %w: another etui or program listens there; stop it, or start etui with --listen, or set %s in etui.yaml or %s", address, ErrInUse, key, variable)
		}
		return nil, phrase.Errorf("the address %s %w: another etui or program listens there; stop it, or set %s in etui.yaml or %s", address, ErrInUse, key, variable)
	case err != nil:
		return nil, phrase.Errorf("listening on %s: %w", address, err)
	}
	return listener, nil
}
