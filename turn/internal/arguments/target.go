package arguments

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/etui-run/etui/internal/nearjson"
)

// Target reads the arguments of call_tool. When "arguments" is missing or empty, it
// takes the other keys as the tool's arguments.
func Target(args json.RawMessage) (name string, inner json.RawMessage, err error) {
	raw, err := nearjson.Object(args)
	if err != nil {
		return "", nil, errors.New(`the arguments are ` + err.Error() + `; call_tool needs {"name": "…", "arguments": {…}}`)
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
	if len(call) == 0 || !slices.Contains([]string{"", "{}", "null", `""`}, strings.Join(strings.Fields(string(inner)), "")) {
		return name, inner, nil
	}
	inner, err = json.Marshal(call)
	return name, inner, err
}
