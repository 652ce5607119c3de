package schedule

import "time"

// After returns when a task runs next after a time.
func (t Task) After(at time.Time) time.Time { return t.after(at) }
