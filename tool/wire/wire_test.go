package wire_test

import (
	"testing"
	"time"

	"github.com/etui-run/etui/tool/wire"
)

// TestErrors checks that errors name the field and show the value.
func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"n": 1.5, "s": 2}`:         "n: a whole number of 64 bits is needed, not 1.5",
		`{"n":"7","s":2}`:            `n: a whole number of 64 bits is needed, not "7"`,
		`{"n":1e30}`:                 "n: a whole number of 64 bits is needed, not 1e30",
		`{"s": [1, {"a": 2}] }`:      `s: a text is needed, not [1, {"a": 2}]`,
		`{"d":"soon","n":1}`:         `d: a time such as "1m30s" is needed, not "soon"`,
		`{"t":"today"}`:              `t: parsing time "today" as "2006-01-02T15:04:05Z07:00": cannot parse "today" as "2006"`,
		`[]`:                         "the arguments: an object is needed, not []",
		`{`:                          "the arguments are not JSON",
		`{"n":5.0,"s":"a","d":"1m"}`: "",
	} {
		var n int64
		var s string
		var d time.Duration
		var at time.Time
		r := wire.Read([]byte(text))
		r.Object()
		for name, ok := r.Field(); ok; name, ok = r.Field() {
			switch name {
			case "n":
				n = r.Int(64)
			case "s":
				s = r.String()
			case "d":
				d = r.Duration()
			case "t":
				r.Text(&at)
			}
		}
		err := r.End()
		if got := ""; err != nil {
			if got = err.Error(); got != want {
				t.Errorf("%s: %s, want %s", text, got, want)
			}
		} else if want != "" || n != 5 || s != "a" || d != time.Minute {
			t.Errorf("%s: %v %v %v", text, n, s, d)
		}
	}
}
