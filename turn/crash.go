package turn

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

// A call can end the process, by taking all memory for example, and would do so in each attempt at
// its turn. So a turn stores which calls run, and refuses the one that was running. In a first
// attempt it does so only for calls that take a while, which costs fast calls nothing. After a process has
// ended unexpectedly, its calls run one by one, and each is stored before it runs.

// markAfter is how long calls run before a first attempt stores that they do.
const markAfter = 100 * time.Millisecond

// careful reports whether a process has ended unexpectedly while it worked on the message.
func (c *conversation) careful() bool { return c.in.Crashed || c.state.Turn.Resumed > 0 }

// mark stores that jobs run. The mark of one that runs alone says that it was the one, if the process
// ends. If several run, a resumed turn runs them one by one.
func (c *calls) mark(jobs []*job) {
	if c.conv.in.Unstored {
		return
	}
	if len(jobs) == 1 {
		c.conv.state.Turn.Marked = append(c.conv.state.Turn.Marked, jobs[0].call.ID)
		if c.round.stored {
			c.conv.store()
			return
		}
	}
	c.keepIntent()
}

// markSlow marks jobs that take a while in a first attempt, if they would run again after a crash
// without it.
func (c *calls) markSlow(jobs []*job) {
	j := jobs[0]
	repeated := j.entry != nil && j.entry.Definition.Repeats() == tool.Safe
	if repeated && !slices.Contains(c.conv.state.Turn.Once, j.call.ID) && !c.conv.careful() {
		c.mark(jobs)
	}
}

// marks is how many marks a call has.
func (c *conversation) marks(call chat.Call) (n int) {
	for _, id := range c.state.Turn.Marked {
		if id == call.ID {
			n++
		}
	}
	return n
}

// marksOf is with how many marks a call counts as the one that ended the process. A keyed call does
// work, and its service knows the key, so it has one more attempt.
func marksOf(r tool.Replay) int {
	if r == tool.Keyed {
		return 2
	}
	return 1
}

// endedBy reports whether a job, or one like it, has ended the process in this turn.
func (c *calls) endedBy(j *job) bool {
	n := 0
	for _, m := range c.conv.sent {
		for _, call := range m.Calls {
			same := call.ID == j.call.ID || call.Name == j.call.Name && bytes.Equal(call.Arguments, j.call.Arguments)
			if same && slices.Contains(c.conv.state.Turn.Ended, call.ID) {
				n++
			}
		}
	}
	if j.entry.Definition.Repeats() == tool.Never { // the model read that the outcome is unknown, and may have found out
		n--
	}
	return n > 0
}

// ended is the result of a call that has ended the process.
func ended(c chat.Call) chat.Result {
	r := tool.Failure("The program ended while %s ran with these arguments, perhaps because of it. It is not run again in this turn. Go on without it, and tell the user.", reached(c))
	r.View.Error = fmt.Sprintf("The program ended while %s ran, perhaps because of it. It was not run again.", reached(c))
	return r
}
