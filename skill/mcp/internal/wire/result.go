package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/internal/printable"
)

// result repairs the result of a method. It refuses one with too many parts.
func (w *Wire) result(method string, raw json.RawMessage) (_ json.RawMessage, refused bool) {
	if isNull(raw) {
		raw = json.RawMessage("{}")
	}
	var list string
	var parts repairer
	switch method {
	case "initialize", discover:
		return w.greeting(raw), false
	case "tools/list":
		list, parts = "tools", w.repairTool
	case "resources/list":
		list, parts = "resources", w.listed(new(sdk.Resource))
	case "resources/templates/list":
		list, parts = "resourceTemplates", w.listed(new(sdk.ResourceTemplate))
	case "prompts/list":
		list, parts = "prompts", w.listed(new(sdk.Prompt))
	case "resources/read":
		list, parts = "contents", repairResource
	case "prompts/get":
		list, parts = "messages", w.repairMessage
	case "tools/call", "tasks/result":
		list, parts = "content", w.repairPart
		raw = w.called(raw)
	default:
		return raw, false
	}
	var fields map[string]json.RawMessage
	if raw[0] == '[' {
		fields = map[string]json.RawMessage{list: raw}
		w.Note("a list instead of a result")
	} else if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return raw, false
	}
	aliased := rename(fields, "isError", "is_error", "iserror")
	changed := fitEach(fields, map[string]kind{
		"nextCursor": aText, "isError": aBool, "_meta": anObject, "ttlMs": aNumber,
	})
	if changed = changed || aliased; changed {
		w.Note("values of another type in a result")
	}
	if each := fields[list]; len(each) > 0 && each[0] == '{' && list == "tools" {
		fields[list], changed = named(each), true
		w.Note("an object instead of a list of tools")
	}
	if isNull(fields[list]) {
		if list != "content" || fields[list] != nil {
			fields[list], changed = json.RawMessage("[]"), true
		}
	} else if now := fit(fields[list], aList); !bytes.Equal(now, fields[list]) {
		fields[list], changed = now, true
		w.Note("one value instead of a list")
	}
	var members []json.RawMessage
	if parts != nil && fields[list] != nil && json.Unmarshal(fields[list], &members) == nil {
		if flat, nested := flattened(members); nested {
			members, fields[list], changed = flat, encoded(flat), true
			w.Note("lists in a list")
		}
		if len(members) > maxParts {
			return nil, true
		}
		if now := repairEach(fields[list], members, parts); !bytes.Equal(now, fields[list]) {
			fields[list], changed = now, true
		}
	}
	if list == "content" {
		if err := json.Unmarshal(encoded(fields), new(sdk.CallToolResult)); err != nil {
			fields = map[string]json.RawMessage{
				"isError": json.RawMessage("true"),
				"content": encoded([]any{textPart("the server's result cannot be read: %s", err)}),
			}
			changed = true
		}
	}
	if !changed && raw[0] != '[' {
		return raw, false
	}
	return encoded(fields), false
}

// rename gives a value the key of the protocol, if it has one of some others.
func rename(fields map[string]json.RawMessage, key string, others ...string) (changed bool) {
	for _, other := range others {
		if fields[key] == nil && fields[other] != nil {
			fields[key], changed = fields[other], true
			delete(fields, other)
		}
	}
	return changed
}

// flattened returns the members of a list with those of lists that are objects in their place.
func flattened(members []json.RawMessage) (flat []json.RawMessage, nested bool) {
	for _, m := range members {
		var inner []json.RawMessage
		if len(m) == 0 || m[0] != '[' || json.Unmarshal(m, &inner) != nil || len(inner) == 0 || inner[0][0] != '{' {
			flat = append(flat, m)
			continue
		}
		flat, nested = append(flat, inner...), true
	}
	return flat, nested
}

// listed returns what repairs a member of a list, of the type of v. One that cannot be read
// becomes an empty one, which nobody is shown.
func (w *Wire) listed(v any) repairer {
	return func(raw json.RawMessage) (_ json.RawMessage, changed bool) {
		if !isNull(raw) && json.Unmarshal(raw, v) == nil {
			return nil, false
		}
		now := object(raw, map[string]kind{
			"name": aText, "uri": aText, "uriTemplate": aText, "title": aText, "description": aText, "mimeType": aText,
			"size": aNumber, "arguments": aList, "icons": aList, "annotations": anObject, "_meta": anObject,
		})
		if isNull(now) || json.Unmarshal(now, v) != nil {
			w.Note("members of a list that cannot be read")
			now = json.RawMessage("{}")
		}
		return now, true
	}
}

// called returns the result of a call as an object of the protocol. Anything that a server returns
// instead is its content.
func (w *Wire) called(raw json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if raw[0] != '{' || json.Unmarshal(raw, &fields) != nil {
		var typed []struct{ Type string }
		w.Note("a bare value instead of a result")
		if json.Unmarshal(raw, &typed) == nil && len(typed) > 0 && typed[0].Type != "" {
			return encoded(map[string]json.RawMessage{"content": raw})
		}
		return encoded(map[string]any{"content": []any{textPart("%s", textOf(raw))}})
	}
	if task := fields["task"]; len(task) > 0 && task[0] == '{' {
		return encoded(map[string]any{"content": []any{}, "_meta": map[string]json.RawMessage{Task: task}})
	}
	known := []string{"content", "structuredContent", "isError", "resultType", "inputRequests", "requestState"}
	if slices.ContainsFunc(known, func(key string) bool { return fields[key] != nil }) {
		return raw
	}
	data := raw
	if old := fields["toolResult"]; old != nil { // of the first version of the protocol
		if data = old; old[0] == '"' {
			return encoded(map[string]any{"content": []any{textPart("%s", textOf(old))}})
		}
	} else if delete(fields, "_meta"); len(fields) == 0 {
		return raw
	} else {
		w.Note("a bare value instead of a result")
	}
	return encoded(map[string]json.RawMessage{"structuredContent": data})
}

// named returns the tools of an object, by name, as a list.
func named(raw json.RawMessage) json.RawMessage {
	var byName map[string]json.RawMessage
	if json.Unmarshal(raw, &byName) != nil || byName["inputSchema"] != nil { // a single tool
		return encoded([]json.RawMessage{raw})
	}
	list := []json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		tool := byName[name]
		var fields map[string]json.RawMessage
		if json.Unmarshal(tool, &fields) == nil && fields != nil && fields["name"] == nil {
			fields["name"] = encoded(name)
			tool = encoded(fields)
		}
		list = append(list, tool)
	}
	return encoded(list)
}

// Legacy is the newest version of the protocol that begins with a handshake.
const Legacy = "2025-11-25"

// greeting repairs what a server says of itself.
func (w *Wire) greeting(raw json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return raw
	}
	changed := fitEach(fields, map[string]kind{
		"capabilities": anObject, "instructions": aText, "protocolVersion": aText, "_meta": anObject,
	})
	if info := fields["serverInfo"]; len(info) > 0 && info[0] == '"' {
		fields["serverInfo"], changed = encoded(map[string]string{"name": textOf(info), "version": ""}), true
	} else if info != nil {
		now := object(info, map[string]kind{
			"name": aText, "version": aText, "title": aText, "websiteUrl": aText, "icons": aList,
		})
		if now = fit(now, anObject); now == nil {
			delete(fields, "serverInfo")
		} else {
			fields["serverInfo"] = now
		}
		changed = changed || !bytes.Equal(now, info)
	}
	if all := fields["capabilities"]; all != nil {
		now := capabilities(all)
		if len(now) != len(all) || !bytes.Equal(now, all) {
			fields["capabilities"], changed = now, true
		}
	}
	if changed {
		w.Note("values of another type in its greeting")
	}
	if said := textOf(fields["protocolVersion"]); fields["supportedVersions"] == nil {
		if use := spoken(said); use != said {
			fields["protocolVersion"], changed = encoded(use), true
			w.Note("version " + cmp.Or(printable.Line(said, 40), "(none)") + " of the protocol, taken as " + use)
		}
	}
	if !changed {
		return raw
	}
	return encoded(fields)
}

// spoken returns the version in which a server that names another one is spoken to: the newest
// one that is not newer, of those with a handshake.
func spoken(said string) string {
	known := slices.DeleteFunc(sdk.SupportedProtocolVersions(), func(v string) bool { return v > Legacy })
	if len(said) != len(Legacy) || said[0] < '0' || said[0] > '9' {
		return Legacy
	}
	for _, v := range known { // newest first
		if v <= said {
			return v
		}
	}
	return known[len(known)-1]
}

// capabilities repairs what a server says it can: true for an object, a text for true.
func capabilities(raw json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return json.RawMessage("{}")
	}
	wanted := map[string]kind{"extensions": anObject}
	for _, key := range []string{"tools", "resources", "prompts", "logging", "completions", "experimental"} {
		wanted[key] = anObject
	}
	changed := fitEach(all, wanted)
	for key := range all {
		if wanted[key] != anObject || all[key] == nil {
			continue
		}
		now := object(all[key], map[string]kind{"listChanged": aBool, "subscribe": aBool})
		if !bytes.Equal(now, all[key]) {
			all[key], changed = now, true
		}
	}
	if !changed {
		return raw
	}
	return encoded(all)
}
