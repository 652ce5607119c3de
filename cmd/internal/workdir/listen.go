package workdir

import (
	"context"
	"errors"
	"fmt"
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
		other := fmt.Sprintf("set %s in etui.yaml or %s%s", key, config.Prefix, strings.ToUpper(key))
		if key == "listen" {
			other = "start etui with --listen, or " + other
		}
		return nil, phrase.Errorf("the address %s %w: another etui or program listens there; stop it, or %s", address, ErrInUse, other)
	case err != nil:
		return nil, phrase.Errorf("listening on %s: %w", address, err)
	}
	return listener, nil
}
