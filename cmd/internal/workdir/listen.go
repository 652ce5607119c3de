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
		format := "the address %s %w: another etui or program listens there; stop it, or set %s in etui.yaml or %s"
		if key == "listen" {
			format = "the address %s %w: another etui or program listens there; stop it, " +
				"or start etui with --listen, or set %s in etui.yaml or %s"
		}
		return nil, phrase.Errorf(format, address, ErrInUse, key, config.Prefix+strings.ToUpper(key))
	case err != nil:
		return nil, phrase.Errorf("listening on %s: %w", address, err)
	}
	return listener, nil
}
