package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/etui-run/etui/internal/panics"
)

// Questions asks a person.
type Questions struct {
	console *Console
	lines   *bufio.Reader
	silent  bool
}

// Questions returns questions to the person at the console; silent ones take the usual
// answers.
func (c *Console) Questions(silent bool) *Questions {
	return &Questions{console: c, lines: bufio.NewReader(oneByOne{c.In}), silent: silent}
}

// oneByOne reads a byte at a time: the input behind the answers belongs to the command.
type oneByOne struct{ io.Reader }

func (r oneByOne) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(1, len(p))]) }

// Agree asks a question, and reports whether the answer is yes. The end of the input is no.
func (q *Questions) Agree(ctx context.Context, question string) bool {
	fmt.Fprint(q.console.Err, question+" "+q.console.Say("[y/N]")+" ")
	line, _ := q.read(ctx) // the end of the input is no
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes" || answer == "是"
}

// Ask asks until an answer is good; a wrong answer that no person gave is an error. The
// end of the input and an empty line take the usual answer. A nil check finds all answers good.
func (q *Questions) Ask(ctx context.Context, question, usual string, check func(string) error) (string, error) {
	for {
		if q.silent {
			return usual, nil
		}
		fmt.Fprintf(q.console.Err, "%s [%s] ", question, usual)
		line, err := q.read(ctx)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, fs.ErrClosed) {
			return "", err
		}
		ended := err != nil
		if ended {
			fmt.Fprintln(q.console.Err)
		}
		answer := strings.TrimSpace(line)
		if short := map[string]string{"y": "yes", "n": "no", "是": "yes",
			"否": "no"}[strings.ToLower(answer)]; short != "" && check != nil {
			answer = short
		}
		if answer == "" {
			return usual, nil
		}
		if check == nil || check(answer) == nil {
			return answer, nil
		}
		if ended || !Is(q.console.In) {
			return "", check(answer)
		}
		fmt.Fprintln(q.console.Err, q.console.Say("%v", check(answer)))
	}
}

// read reads a line, unless the user stops the program first.
func (q *Questions) read(ctx context.Context) (line string, err error) {
	done := make(chan struct{})
	go func() { // it ends with the program, at the latest
		defer close(done)
		err = panics.Try(nil, "reading an answer", func() (err error) {
			line, err = q.lines.ReadString('\n')
			return err
		})
	}()
	select {
	case <-done:
		return line, err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
