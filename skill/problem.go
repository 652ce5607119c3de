package skill

import (
	"strings"

	"github.com/etui-run/etui/internal/form"
)

// Problem is a reason why a file cannot be used. A provider's Load may return one
// with Field and Message only: the loader adds the place.
type Problem struct {
	// File, Line and Column say where. Line and Column are 0 for the whole file.
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Field is the key, as in "headers.Accept"; it may be empty.
	Field string `json:"field,omitempty"`
	// Message says what is wrong and what would be right. It names the key too.
	Message string `json:"message"`
}

// Error returns the place and the message.
func (p Problem) Error() string { return form.Problem(p).Error() }

// Problems are everything that is wrong with a file: at least one, in the order of
// the file. errors.As finds them in the errors of this package.
type Problems []Problem

func (p Problems) Error() string {
	var b strings.Builder
	for i, problem := range p {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(problem.Error())
	}
	return b.String()
}
