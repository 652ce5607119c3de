package demo

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// call is one request to one tool.
type call struct {
	tool  endpoint
	world *world
	now   time.Time
	args  map[string]string
}

// verbs are the ways in which tools answer.
var verbs = map[string]func(*call) (reply, error){
	"list": (*call).list, "get": (*call).get, "create": (*call).create, "update": (*call).update, "delete": (*call).delete,
	"do":   func(c *call) (reply, error) { return c.say(c.fill(c.tool.object)), nil },
	"logs": (*call).logs, "metric": (*call).metric, "weather": (*call).weather, "convert": (*call).convert, "timezone": (*call).timezone,
	"slots": (*call).slots, "translate": (*call).translate, "language": (*call).language, "summary": (*call).summary,
}

// answer executes the call.
func (c *call) answer() (reply, error) {
	if answer, ok := verbs[c.tool.verb]; ok {
		return answer(c)
	}
	return reply{}, refuse(http.StatusNotImplemented, "%s has no answer", c.tool.name)
}

// say returns an answer in words, with the arguments as its data.
func (c *call) say(text string) reply {
	data, _ := json.Marshal(map[string]any{"tool": c.tool.name, "arguments": c.args, "result": text}) // strings only
	return reply{Text: text, Data: data}
}

// seed is the source of the call's random figures.
func (c *call) seed() seed {
	words := []string{c.tool.name}
	for _, name := range slices.Sorted(maps.Keys(c.args)) {
		words = append(words, name, c.args[name])
	}
	return seedOf(words...)
}

// subject is the subject of a call: its first required argument.
func (c *call) subject() string {
	if len(c.tool.required) == 0 {
		return ""
	}
	return c.tool.required[0]
}

// resolve replaces arguments that name something in the world by its proper name, and
// refuses unknown names.
func (c *call) resolve() error {
	for name, value := range c.args {
		if person := c.world.person(value); person != "" {
			value = person
			c.args[name] = value
		}
		target := c.world.References[name]
		if list, ok := strings.CutPrefix(target, "@"); ok {
			known := c.world.Lists[list]
			i := slices.IndexFunc(known, func(k string) bool { return fold(k) == fold(value) })
			if i < 0 {
				return unknown(name, value, known)
			}
			c.args[name] = known[i]
		} else if target != "" {
			all := c.world.records(target, c.now, true)
			r, ok := find(all, value)
			if !ok {
				return unknown(c.world.Kinds[target].One, value, names(all))
			}
			c.args[name] = r.id
		}
	}
	return nil
}

// person returns the full name for a first name or "me"; empty if nobody matches.
func (w *world) person(text string) string {
	people := w.Lists["person"]
	switch text = fold(text); text {
	case "me", "myself", "我", "我的":
		return people[0]
	}
	for _, name := range people {
		if first, _, _ := strings.Cut(fold(name), " "); text == first || text == fold(name) {
			return name
		}
	}
	return ""
}

func unknown(what, value string, known []string) error {
	more := ""
	if len(known) > 10 {
		known, more = known[:10], ", …"
	}
	return refuse(http.StatusNotFound, "unknown %s %q; known: %s%s", strings.ReplaceAll(what, "_", " "), value, strings.Join(known, ", "), more)
}

func names(all []record) []string {
	ids := make([]string, len(all))
	for i, r := range all {
		ids[i] = r.id
	}
	return ids
}
