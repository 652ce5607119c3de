package audit

import (
	"math"
	"time"
)

// Counters summarize the calls of a skill since the program started.
type Counters struct {
	Calls int `json:"calls"`
	// Failures counts the failed calls by kind.
	Failures map[string]int `json:"failures,omitempty"`
	// Median and P95 are percentiles of the duration in milliseconds, at most 19 % too
	// high.
	Median float64 `json:"median_ms,omitempty"`
	P95    float64 `json:"p95_ms,omitempty"`
	// Last is when the newest call began.
	Last time.Time `json:"last,omitzero"`
}

// buckets are a quarter of a power of two wide, from 0.1 ms to beyond two
// minutes.
const buckets = 84

type counter struct {
	calls    int
	failures map[string]int
	times    [buckets]uint32
	last     time.Time
}

func (c *counter) add(outcome string, began time.Time, took time.Duration) {
	c.calls++
	c.last = began
	c.times[bucket(took)]++
	if outcome == OK {
		return
	}
	if c.failures == nil {
		c.failures = map[string]int{}
	}
	c.failures[outcome]++
}

func bucket(took time.Duration) int {
	tenths := float64(took) / float64(100*time.Microsecond)
	if tenths <= 1 {
		return 0
	}
	return min(buckets-1, int(math.Ceil(4*math.Log2(tenths))))
}

// below returns the time in milliseconds that a part of the calls stayed below.
func (c *counter) below(part float64) float64 {
	rest := uint32(math.Ceil(part * float64(c.calls)))
	for i, n := range c.times {
		if n >= rest {
			return math.Round(1000*0.1*math.Exp2(float64(i)/4)) / 1000
		}
		rest -= n
	}
	return 0
}
