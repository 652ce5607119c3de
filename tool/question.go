package tool

import "time"

// Question is the error of a call that cannot go on before a person has answered. The
// host asks the user; the answer is the result of the call, which does not run again unless
// Resume is set. A host that can ask nobody makes it a failure.
type Question struct {
	Text string
	// Choices are answers to choose from; others may be given as well.
	Choices []string
	// Resume, if not empty, names what goes on with the answer: the call runs again, with a
	// [Reply].
	Resume string
	// Lasts is how long an answer is of use; 0 is as long as the host waits for one.
	Lasts time.Duration
}

// Reply is the answer to a [Question] that names what goes on with it.
type Reply struct {
	Resume, Text string
	Given        bool // otherwise the person did not answer
}

func (q *Question) Error() string { return "nobody can be asked here: " + q.Text }
