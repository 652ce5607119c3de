package tool

import "context"

// IdempotencyKey returns the key of the call that ctx belongs to: the same when the call is repeated after a crash, another for every other call. It is empty when the host gives none.
func IdempotencyKey(ctx context.Context) string { h, _ := ctx.Value(hostKey{}).(Host); return h.Key }
