package sqlite

import (
	"cmp"
	"time"
)

// Limits bound a record. Entries beyond them are not listed, and are dropped when one is added.
type Limits struct {
	// Most is how many are kept, the newest ones; 0 means a number that depends on the
	// record.
	Most int
	// Age is how long they are kept; 0 means 90 days.
	Age time.Duration
	// Now tells the time; nil means time.Now.
	Now func() time.Time
}

func (l Limits) withDefaults(most int) Limits {
	if l.Now == nil {
		l.Now = time.Now
	}
	return Limits{cmp.Or(l.Most, most), cmp.Or(l.Age, 90*24*time.Hour), l.Now}
}

// oldest is the time of the oldest entry that may be kept.
func (l Limits) oldest() int64 { return l.Now().Add(-l.Age).UnixMilli() }
