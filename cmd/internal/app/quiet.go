package app

import (
	"context"
	"runtime/metrics"
	"time"
)

// The gateway is quiet when it allocated less than quietBytes in the last quietFor. Then
// memory is given back if worthBytes were allocated since the last time.
const (
	quietFor   = 2 * time.Second
	quietBytes = 1 << 20
	worthBytes = 32 << 20
)

// giveBack returns memory to the system, until ctx ends, whenever the gateway becomes
// quiet. Go alone waits until as much again is allocated, or for two minutes; meanwhile
// people whose model is slow would hold memory that nothing needs.
func (s *Server) giveBack(ctx context.Context) {
	ticker := time.NewTicker(quietFor)
	defer ticker.Stop()
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	for before, given := uint64(0), uint64(0); ; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		metrics.Read(sample)
		allocated := sample[0].Value.Uint64()
		if allocated-before < quietBytes && allocated-given > worthBytes {
			releaseMemory()
			given = allocated
		}
		before = allocated
	}
}
