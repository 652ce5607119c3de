package meta

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/etui-run/etui/internal/nearjson"
)

const (
	maxQueries = 5 // in one search
	// MaxFound is how many tools one answer has.
	MaxFound = 20
	perQuery = 5 // tools for one query, unless the model asks for more or fewer
)

// Queries reads the queries of a search and how many tools each may find. Models also
// write one query as a string, or name it "query".
func Queries(args json.RawMessage) (queries []string, limit int) {
	raw, err := nearjson.Object(args)
	if err != nil {
		return nil, 0
	}
	var in map[string]json.RawMessage
	_ = json.Unmarshal(raw, &in) // repair gave an object
	_ = json.Unmarshal(in["limit"], &limit)
	if limit < 1 || limit > MaxFound {
		limit = perQuery
	}
	for _, key := range []string{"queries", "query"} {
		var one string
		var many []string
		if json.Unmarshal(in[key], &many) != nil && json.Unmarshal(in[key], &one) == nil {
			many = []string{one}
		}
		for _, q := range many {
			if q = strings.TrimSpace(q); q != "" && len(queries) < maxQueries {
				queries = append(queries, q)
			}
		}
	}
	return queries, limit
}

// Target reads the arguments of call_tool. When "arguments" is missing or empty, it
// takes the other keys as the tool's arguments.
func Target(args json.RawMessage) (name string, inner json.RawMessage, err error) {
	raw, err := nearjson.Object(args)
	if err != nil {
		return "", nil, errors.New(`the arguments are ` + err.Error() +
			`; call_tool needs {"name": "…", "arguments": {…}}`)
	}
	var call map[string]json.RawMessage
	if err := json.Unmarshal(raw, &call); err != nil {
		return "", nil, err
	}
	if json.Unmarshal(call["name"], &name) != nil || name == "" {
		return "", nil, errors.New(`call_tool needs {"name": "…", "arguments": {…}}`)
	}
	inner = call["arguments"]
	delete(call, "name")
	delete(call, "arguments")
	if len(call) == 0 || !slices.Contains([]string{"", "{}", "null", `""`},
		strings.Join(strings.Fields(string(inner)), "")) {
		return name, inner, nil
	}
	inner, err = json.Marshal(call)
	return name, inner, err
}
