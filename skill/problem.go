package skill

import (
	"strings"

	"github.com/etui-run/etui/internal/form"
)

// Problem is something that keeps a file from being used. A provider's Load may
// return one that has Field and Message only: the loader adds where that is.
type Problem struct {
	// File, Line and Column say where. Line and Column are 0 when it is the whole
	// file.
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Field is the key, as in "headers.Accept"; empty when it is none in particular.
	Field string `json:"field,omitempty"`
	// Message says what is wrong and what would be right. It names the key too.
	Message string `json:"message"`
}

// Error tells the problem and where it is. Without a file it is the message alone.
func (p Problem) Error() string { return form.Problem(p).Error() }

// Problems are all that is wrong with a file: at least one, in the order of the
// file. They are found with errors.As in the errors of this package.
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
