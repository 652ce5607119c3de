package pdf

import "time"

// Patient returns a Reader for a machine that is busy.
func Patient() *Reader {
	r := New()
	r.most = 10 * time.Minute
	return r
}

// Hasty returns a Reader whose time is over at once.
func Hasty() *Reader {
	r := New()
	r.most = 0
	return r
}
