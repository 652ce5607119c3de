//go:build unix

package sandbox_test

import (
	"context"
	"fmt"
	"os"

	"github.com/etui-run/etui/sandbox"
)

// The zero Config takes the strongest isolation that the machine has.
func Example() {
	s, err := sandbox.New(sandbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	if err := s.Ready(); err != nil {
		fmt.Println(err) // this machine cannot isolate programs
		return
	}
	got, err := s.Run(context.Background(), sandbox.Command{
		Args: []string{"sh", "-c", "read name; echo hello $name; exit 3"}, Dir: os.TempDir(), Stdin: []byte("etui\n"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(got.Stdout)
	fmt.Println(got.Status)
	// Output:
	// hello etui
	// exit status 3
}
