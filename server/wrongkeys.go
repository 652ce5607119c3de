package server

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/etui-run/etui/internal/sleep"
)

const (
	// freeTries is how many wrong keys an address may present before its refusals wait.
	freeTries = 10
	// slow is how long a refusal waits then. While maxHeld refusals of one address wait,
	// its further requests are refused without a look at their keys.
	slow    = time.Second
	maxHeld = 16
	// forgotten is how long after its last wrong key an address begins anew.
	forgotten = 10 * time.Minute
	// maxAddresses bounds the addresses that are remembered. Of more, the one whose last
	// wrong key is the oldest is forgotten.
	maxAddresses = 4096
)

// wrongKeys slows clients down that try keys. Each address is slowed down by itself, and
// a right key is not, unless the address floods the server. The zero value is ready to
// use.
type wrongKeys struct {
	mu sync.Mutex
	by map[netip.Prefix]*tries
}

// tries are the wrong keys of an address.
type tries struct {
	wrong, held int
	last        time.Time
}

// floods reports whether so many refusals of an address wait that keys from it are not
// looked at.
func (k *wrongKeys) floods(from netip.Prefix) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.by[from]
	return t != nil && t.held >= maxHeld
}

// wait notes a wrong key, and returns when its sender may be refused.
func (k *wrongKeys) wait(ctx context.Context, from netip.Prefix) {
	t := k.note(from)
	if t == nil {
		return
	}
	sleep.For(ctx, slow)
	k.mu.Lock()
	defer k.mu.Unlock()
	t.held--
}

// note counts a wrong key. It returns nil if its refusal need not wait.
func (k *wrongKeys) note(from netip.Prefix) *tries {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	t := k.by[from]
	if t == nil {
		if k.by == nil {
			k.by = map[netip.Prefix]*tries{}
		}
		if len(k.by) >= maxAddresses {
			k.forgetOne()
		}
		t = &tries{}
		k.by[from] = t
	}
	if now.Sub(t.last) > forgotten {
		t.wrong = 0
	}
	t.last = now
	if t.wrong++; t.wrong <= freeTries {
		return nil
	}
	t.held++
	return t
}

func (k *wrongKeys) forgetOne() {
	var oldest netip.Prefix
	for from, t := range k.by {
		if o := k.by[oldest]; o == nil || t.last.Before(o.last) {
			oldest = from
		}
	}
	delete(k.by, oldest)
}

// peer returns the address that a request comes from. The addresses of one IPv6 network,
// which a single client may have, count as one.
func peer(r *http.Request) netip.Prefix {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Prefix{}
	}
	bits, from := 32, at.Addr().Unmap()
	if from.Is6() {
		bits = 64
	}
	network, _ := from.WithZone("").Prefix(bits) // bits fit the address
	return network
}
