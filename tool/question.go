package tool

// Question is the error of a call that cannot go on before a person has answered. The
// host asks the user; the answer is the result of the call, which does not run again. A
// host that can ask nobody makes it a failure.
type Question struct {
	Text string
	// Choices are answers to choose from; others may be given as well.
	Choices []string
}

func (q *Question) Error() string { return "nobody can be asked here: " + q.Text }
