package wire_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/tool/wire"
)

// TestRead checks what is read, and that errors name the argument and show its value.
func TestRead(t *testing.T) {
	type inner struct {
		Level int8 `json:"level" default:"3"`
	}
	for text, want := range map[string]string{
		`{"n": 1.5, "s": 2}`:         "n: a whole number of 64 bits is needed, not 1.5",
		`{"n":"7","s":2}`:            `n: a whole number of 64 bits is needed, not "7"`,
		`{"n":1e30}`:                 "n: a whole number of 64 bits is needed, not 1e30",
		`{"u":-1}`:                   "u: a whole number of 16 bits that is not negative is needed, not -1",
		`{"s": [1, {"a": 2}] }`:      "s: a text is needed, not an array",
		`{"list": [{"level":300}] }`: "list.0.level: a whole number of 8 bits is needed, not 300",
		`{"b": 1}`:                   "b: true or false is needed, not a number",
		`{"list": {}}`:               "list: an array is needed, not an object",
		`{"d":"soon","n":1}`:         `d: a time such as "1m30s" is needed, not "soon"`,
		`{"t":"today"}`:              `t: parsing time "today" as "2006-01-02T15:04:05Z07:00": cannot parse "today" as "2006"`,
		`[]`:                         "the arguments: an object is needed, not an array",
		`{`:                          "the arguments are not JSON",
		`{"n":5.0,"s":"a","d":"1m","u":1e3,"list":[{}, {"level":4}],"max_items":9}`: "",
	} {
		var in struct {
			N        int64         `json:"n"`
			U        uint16        `json:"u"`
			S        string        `json:"s"`
			B        bool          `json:"b" default:"true"`
			D        time.Duration `json:"d"`
			T        time.Time     `json:"t"`
			List     []inner       `json:"list"`
			MaxItems int
		}
		err := wire.Read([]byte(text), &in)
		if got := ""; err != nil {
			if got = err.Error(); got != want {
				t.Errorf("%s: %s, want %s", text, got, want)
			}
		} else if want != "" || in.N != 5 || in.S != "a" || in.D != time.Minute || in.U != 1000 || !in.B || len(in.List) != 2 || in.List[0].Level != 3 || in.List[1].Level != 4 || in.MaxItems != 9 {
			t.Errorf("%s: %+v", text, in)
		}
	}
}

// TestTool checks every form of a function, and what the model reads.
func TestTool(t *testing.T) {
	type args struct {
		Word string `json:"word"`
	}
	type word string
	type measured struct {
		Took  time.Duration
		Share float64
		Of    []string
	}
	for name, c := range map[string]struct {
		fn   any
		want string
	}{
		"nothing":   {func() error { return nil }, "Done."},
		"context":   {func(context.Context) (word, error) { return "a", nil }, "a"},
		"struct":    {func(in args) (string, error) { return in.Word, nil }, "<b>"},
		"pointer":   {func(_ context.Context, in *args) (chat.Result, error) { return chat.Result{Text: in.Word}, nil }, "<b>"},
		"value":     {func(in args) (args, error) { return in, nil }, `{"word":"<b>"}`},
		"null":      {func() (*args, error) { return nil, nil }, "null"},
		"any":       {func() (any, error) { return nil, nil }, "null"},
		"error":     {func() (string, error) { return "", errors.New("no") }, "no"},
		"measure":   {func() (measured, error) { return measured{time.Minute, math.NaN(), nil}, nil }, `{"Took":"1m0s","Share":null,"Of":null}`},
		"unwritten": {func() (any, error) { return make(chan int), nil }, "writing the result: JSON has no chan int"},
	} {
		r, err := wire.Tool(tool.Definition{Name: "x", Risk: tool.Read}, c.fn).Call(t.Context(), []byte(`{"word":"<b>"}`))
		got := r.Text
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	for _, fn := range []any{func() {}, func(int) error { return nil }, func(args, args) error { return nil }, func() (int, int, error) { return 0, 0, nil }, func() int { return 0 }} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%T is taken as a tool", fn)
				}
			}()
			wire.Tool(tool.Definition{Name: "x", Risk: tool.Read}, fn)
		}()
	}
}
