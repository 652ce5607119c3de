package wecom

import "time"

// What tests reach beside the public API.
var (
	Open   = open
	Seal   = seal
	Render = render
)

// SetNow sets the clock.
func (c *Channel) SetNow(now func() time.Time) { c.now = now }
