package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// severities are the levels of log lines, from harmless to severe.
var severities = []string{"debug", "info", "warning", "error"}

// logLine is one line as the user's side receives it.
type logLine struct {
	Time    string `json:"time"`
	Level   string `json:"level"`
	Service string `json:"service"`
	Pod     string `json:"pod,omitempty"`
	Message string `json:"message"`
}

// logs answers with the newest lines of a pod, a service or all services. The object
// of the verb may name the service.
func (c *call) logs() (reply, error) {
	service, pod, namespace := c.args["service"], c.args["pod"], c.args["namespace"]
	if c.tool.object != "" {
		service = c.tool.object
	}
	if pod != "" {
		if namespace == "" {
			namespace = "prod"
		}
		pods := keepIf(c.world.records("pod", c.now, false), func(r record) bool { return r.fields["namespace"] == namespace })
		r, ok := find(pods, c.args["pod"])
		if !ok {
			return reply{}, unknown("pod", pod+" in namespace "+namespace, names(pods))
		}
		pod, service = r.id, r.fields["service"]
	}
	lines := c.lines(service, pod, namespace)
	about := "all services"
	if service != "" {
		about = service
	}
	if pod != "" {
		about = "pod " + pod + " (namespace " + namespace + ")"
	}
	if len(lines) == 0 {
		return c.say(fmt.Sprintf("No log lines of %s match %q.", about, c.args["query"])), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d log lines of %s", len(lines), about)
	if level := c.args["level"]; level != "" {
		b.WriteString(", level " + level)
	}
	for _, l := range lines {
		fmt.Fprintf(&b, "\n%s %-7s ", l.Time, strings.ToUpper(l.Level))
		if service == "" {
			b.WriteString("[" + l.Service + "] ")
		}
		b.WriteString(l.Message)
	}
	data, _ := json.Marshal(lines) // strings only
	return reply{Text: b.String(), Data: data}, nil
}

// lines draws log lines, oldest first: of one service, or of all of them.
func (c *call) lines(service, pod, namespace string) []logLine {
	sources := []string{service}
	if service == "" {
		sources = c.world.Lists["service"]
	}
	least := c.args["level"]
	count := 8 + c.seed().n(5)
	for _, arg := range []string{"tail", "lines", "limit"} {
		if n, err := strconv.Atoi(c.args[arg]); err == nil && n > 0 {
			count = min(n, 12)
		}
	}
	var pool []logLine
	for _, source := range sources {
		for i, level := range severities {
			if least != "" && i < slices.Index(severities, least) || least == "" && level == "debug" {
				continue
			}
			for _, message := range c.messages(source, level) {
				pool = append(pool, logLine{Level: level, Service: source, Pod: pod, Message: message})
			}
		}
	}
	if query := c.args["query"]; query != "" {
		pool = nearest(pool, query)
	}
	if len(pool) == 0 {
		return nil
	}
	count = min(count, 3*len(pool)) // more would only repeat the same lines
	s := seedOf(service, pod, namespace, c.args["query"])
	shuffle := func(l logLine) seed { return seedOf(l.Message, strconv.Itoa(s.n(1000))) }
	slices.SortFunc(pool, func(a, b logLine) int { return cmp.Compare(shuffle(a), shuffle(b)) })
	at := c.now
	lines := make([]logLine, count)
	for i := range lines {
		draw := s.next(i)
		l := pool[i%len(pool)]
		at = at.Add(-time.Duration(3+draw.n(170)) * time.Second)
		l.Time = at.Format("15:04:05")
		filler := call{tool: endpoint{name: l.Message}, world: c.world, now: c.now, args: map[string]string{"n": strconv.Itoa(i), "pod": pod}}
		l.Message = filler.fill(l.Message)
		lines[count-1-i] = l
	}
	return lines
}

// nearest keeps the lines that contain the most words of the query.
func nearest(pool []logLine, query string) []logLine {
	return most(pool, func(l logLine) (hits int) {
		text := fold(l.Service + " " + l.Level + " " + l.Message)
		for word := range strings.FieldsSeq(fold(query)) {
			if strings.Contains(text, word) {
				hits++
			}
		}
		return hits
	})
}

// messages returns the templates of a service's lines, completed with those of "any".
func (c *call) messages(service, level string) []string {
	own := c.world.Logs[service][level]
	if len(own) >= 8 || c.tool.object != "" {
		return own
	}
	return slices.Concat(own, c.world.Logs["any"][level])
}
