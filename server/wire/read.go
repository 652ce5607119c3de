package wire

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/etui-run/etui/internal/jsonsize"
	"github.com/etui-run/etui/internal/nearest"
)

// Read decodes the body of a request in one of etui's own protocols: one JSON value
// and nothing after it. A field that into does not have, a field that appears twice
// and a value of the wrong kind are refused, and so are query parameters: what a
// client asks for is done whole or not at all. When Read cannot decode the body, it
// answers why and returns false.
func Read(w http.ResponseWriter, r *http.Request, into any) bool {
	if _, ok := Query(w, r); !ok {
		return false
	}
	return ReadBody(w, r, into)
}

// ReadBody is [Read] for a request that also has a query.
func ReadBody(w http.ResponseWriter, r *http.Request, into any) bool {
	err := jsonv2.UnmarshalRead(&jsonsize.Reader{From: r.Body, Most: maxValues}, into,
		jsonv2.RejectUnknownMembers(true))
	return err == nil || refuseBody(w, err, bodyProblem(err))
}

// ReadForeign decodes the body of a request in somebody else's protocol, whose
// clients may send fields that etui does not know: they are skipped. When it cannot
// decode the body, it answers why and returns false.
func ReadForeign(w http.ResponseWriter, r *http.Request, into any) bool {
	err := jsonv2.UnmarshalRead(&jsonsize.Reader{From: r.Body, Most: maxValues}, into)
	return err == nil || refuseBody(w, err, bodyProblem(err))
}

// ReadRaw reads the body of a request whose protocol a library decodes, within the bounds of the
// others. When it cannot, it answers why and returns false.
func ReadRaw(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	raw, err := io.ReadAll(&jsonsize.Reader{From: r.Body, Most: maxValues})
	return raw, err == nil || refuseBody(w, err, "the body of the request cannot be read")
}

// maxValues bounds the values of a body: once it is read, each takes many times its bytes.
const maxValues = 100_000

// ErrManyLarge is the error of a body that was not read because too many large ones were.
var ErrManyLarge = errors.New("too many large requests are being read; try again in a moment")

// refuseBody answers why a body cannot be decoded, and returns false.
func refuseBody(w http.ResponseWriter, err error, problem string) bool {
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		Refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the request is longer than %d bytes", tooLong.Limit))
	case errors.Is(err, ErrManyLarge):
		w.Header().Set("Retry-After", "5")
		Refuse(w, http.StatusTooManyRequests, ErrManyLarge.Error())
	case errors.Is(err, jsonsize.ErrMany):
		Refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the request has more than %d values", maxValues))
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		Refuse(w, http.StatusRequestTimeout, "the body of the request arrives too slowly")
	default:
		Refuse(w, http.StatusBadRequest, problem)
	}
	return false
}

// bodyProblem says what is wrong with a body, without names of Go types.
func bodyProblem(err error) string {
	var syntax *jsontext.SyntacticError
	var meaning *jsonv2.SemanticError
	switch {
	case errors.As(err, &syntax) && errors.Is(syntax.Err, jsontext.ErrDuplicateName):
		return fmt.Sprintf("the field %q appears twice", dotted(syntax.JSONPointer))
	case errors.As(err, &syntax):
		return fmt.Sprintf("the request is not the expected JSON: %v after byte %d", syntax.Err, syntax.ByteOffset)
	case errors.As(err, &meaning) && errors.Is(meaning.Err, jsonv2.ErrUnknownName):
		known := fields(meaning.GoType)
		return fmt.Sprintf("unknown field %q%s; the fields are %s", dotted(meaning.JSONPointer),
			nearest.Hint(meaning.JSONPointer.LastToken(), slices.Values(known)), strings.Join(known, ", "))
	case errors.As(err, &meaning) && meaning.GoType != nil:
		what := "the request"
		if meaning.JSONPointer != "" {
			what = strconv.Quote(dotted(meaning.JSONPointer))
		}
		return fmt.Sprintf("%s must be %s", what, kind(meaning.GoType))
	}
	return "the request is not the expected JSON: " + err.Error()
}

// dotted writes a JSON pointer as people write paths: history.0.text.
func dotted(p jsontext.Pointer) string { return strings.Join(slices.Collect(p.Tokens()), ".") }

// fields returns the names of the JSON fields of a struct, in order.
func fields(t reflect.Type) (names []string) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "" && name != "-" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// kind describes the JSON that a Go type takes.
func kind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8,
		reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number that is not too large"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	}
	return "an object"
}

// Query reads the query of a request. Parameters with other names than these, and
// parameters that appear twice, are refused: then Query answers why and returns
// false.
func Query(w http.ResponseWriter, r *http.Request, names ...string) (url.Values, bool) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		Refuse(w, http.StatusBadRequest, "the query cannot be read: "+err.Error())
		return nil, false
	}
	for name, values := range q {
		switch {
		case len(names) == 0:
			Refuse(w, http.StatusBadRequest, fmt.Sprintf("unknown query parameter %q; this request has none", name))
		case !slices.Contains(names, name):
			Refuse(w, http.StatusBadRequest,
				fmt.Sprintf("unknown query parameter %q%s; the parameters are %s", name,
					nearest.Hint(name, slices.Values(names)), strings.Join(names, ", ")))
		case len(values) > 1:
			Refuse(w, http.StatusBadRequest, fmt.Sprintf("the query parameter %q appears twice", name))
		default:
			continue
		}
		return nil, false
	}
	return q, true
}

// Limit reads the parameter limit, how many things a query asks for; 0 means that it
// does not say.
func Limit(q url.Values, things string) (int, error) {
	if q.Get("limit") == "" {
		return 0, nil
	}
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil || limit < 0 {
		return 0, fmt.Errorf("limit must be a number of %s", things)
	}
	return limit, nil
}

// Flag reads a parameter that is true or false; without it, it is false.
func Flag(q url.Values, name string) (bool, error) {
	switch q.Get(name) {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	}
	return false, fmt.Errorf("%s must be true or false", name)
}
