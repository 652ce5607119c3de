// Package leftout leaves tests out that need a program which is not installed. With `go test`
// alone such a test is skipped, and says so in a line that begins with "left out:". `make test`
// fetches the programs and sets TEST_ALL=1: then a missing program is a failure.
package leftout

import (
	"fmt"
	"os"
	"testing"
)

// Without leaves a test out that needs a program, or fails it if all tests are to run.
func Without(tb testing.TB, program string) {
	tb.Helper()
	if err := Refused(program); err != nil {
		tb.Fatal(err)
	}
	tb.Skip(Line(program))
}

// Refused returns an error if all tests are to run and a program is missing.
func Refused(program string) error {
	if os.Getenv("TEST_ALL") == "" {
		return nil
	}
	return fmt.Errorf("%s is not installed, and TEST_ALL says that no test may be left out", program)
}

// Line says that a test is left out.
func Line(program string) string {
	return "left out: " + program + " is not installed; `make test` runs this test, too"
}
