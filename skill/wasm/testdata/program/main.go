// A program to test with: GOOS=wasip1 GOARCH=wasm go build.
package main

import (
	"bytes"
	"io"
	"os"
	"time"
)

func main() {
	in, _ := io.ReadAll(os.Stdin)
	does := func(what string) bool { return bytes.Contains(in, []byte(`"`+what+`"`)) }
	switch {
	case does("fail"):
		os.Stderr.WriteString("first\n\x1b[31mno such city\n")
		os.Exit(3)
	case does("panic"):
		panic("oh no")
	case does("nothing"):
	case does("text"):
		os.Stdout.WriteString("plain words")
	case does("allocate"):
		var kept [][]byte
		for {
			kept = append(kept, make([]byte, 1<<20))
			kept[0][0]++
		}
	case does("flood"):
		for {
			os.Stdout.Write(make([]byte, 64<<10))
		}
	case does("escape"):
		found := "[]"
		for _, path := range []string{"/etc/passwd", "main.go", "."} {
			if _, err := os.Open(path); err == nil {
				found = `["` + path + `"]`
			}
		}
		for range os.Environ() {
			found = `["environment"]`
		}
		if time.Now().Nanosecond() != 0 || time.Now().Year() < 2026 {
			found = `["clock"]`
		}
		os.Stdout.WriteString(found)
	default:
		os.Stdout.WriteString(`{"got":` + string(in) + `}`)
	}
}
