package selection

import (
	"math"
	"time"
)

const (
	historyHalfLife = 3 * 24 * time.Hour
	recencyHalfLife = time.Hour
)

// Use is a call that was made earlier.
type Use struct {
	// Tool is the name of the tool that the call reached.
	Tool string
	// Time is when; zero when unknown. Such a use counts for the history, and not
	// for the recency.
	Time time.Time
}

// experience sums up the earlier uses of a candidate.
type experience struct {
	count   float64 // of uses; older ones count less
	recency float64 // of the newest use, 0 to 1
}

func (e *experience) add(u Use, now time.Time) {
	if u.Time.IsZero() || now.IsZero() {
		e.count++
		return
	}
	age := max(now.Sub(u.Time), 0)
	e.count += math.Exp2(-float64(age) / float64(historyHalfLife))
	e.recency = max(e.recency, math.Exp2(-float64(age)/float64(recencyHalfLife)))
}

// experiences sums up the uses of tools that exist, by position.
func (r recommender) experiences() map[int]experience {
	past := map[int]experience{}
	for _, u := range r.sel.Request.Used {
		if e, ok := r.sel.selector.catalog.Get(u.Tool); ok {
			x := past[e.Position()]
			x.add(u, r.sel.Request.Facts.Time)
			past[e.Position()] = x
		}
	}
	return past
}
