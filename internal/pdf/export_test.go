package pdf

import "time"

// Patient returns a Reader for a machine that is busy.
func Patient() *Reader {
	r := New()
	r.most, r.share, r.wait = 10*time.Minute, 10*time.Minute, 10*time.Minute
	return r
}

// Fair returns a Reader that gives a document up soon when others wait.
func Fair() *Reader {
	r := Patient()
	r.share = 100 * time.Millisecond
	return r
}

// Crowded returns a Reader in which nobody waits.
func Crowded() *Reader {
	r := Patient()
	r.wait = 0
	return r
}

// Hasty returns a Reader whose time is over at once.
func Hasty() *Reader {
	r := New()
	r.most = 0
	return r
}

// Reads reports whether a document is being read.
func (r *Reader) Reads() bool { return len(r.turn) > 0 }
