// Package report says in words and tables what a gateway answers, for people at a terminal.
package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/erase"
	"github.com/etui-run/etui/inbox"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/learning"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/schedule"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/usage"
)

// Keys lists the API keys.
func Keys(lang string, keys []server.KeyStatus) string {
	return Table[server.KeyStatus]{
		None: "There are no API keys.\n", Wide: true, Head: []string{"KEY", "USER", "MAY", "MADE", "PROBLEM"},
		Row: func(k server.KeyStatus) []string {
			may := phrase.Word(lang, "talk")
			switch {
			case k.Operator && k.ForOthers:
				may = phrase.Word(lang, "operate, speak for others")
			case k.Operator:
				may = phrase.Word(lang, "operate")
			case k.ForOthers:
				may = phrase.Word(lang, "speak for others")
			}
			if k.NoClientTools {
				may += phrase.Word(lang, ", no client tools")
			}
			return []string{k.Name, k.User, may, k.Created.Local().Format(time.DateTime), k.Problem}
		},
	}.Text(lang, keys)
}

// Agents lists the agents.
func Agents(lang string, agents []agent.Status) string {
	return Table[agent.Status]{
		Wide: true, Head: []string{"AGENT", "MODEL", "TOOLS", "GROUPS", "ACTIVE", "SKILL", "SKILLS SHOWN", "STRATEGY",
			"FOLLOWS"},
		Row: func(s agent.Status) []string {
			all := phrase.Word(lang, "all")
			shown := cmp.Or(strings.Join(s.Skills, ","), all)
			return []string{s.Name, s.Model, strconv.Itoa(s.Tools), cmp.Or(s.Groups, all), strconv.Itoa(s.Active),
				s.Skill, shown, fmt.Sprint(s.Strategy), s.Guide}
		},
	}.Text(lang, agents) + legend(lang, agents) + describeHealth(lang, agents)
}

// legend explains the columns that do not speak for themselves, if they say anything.
func legend(lang string, agents []agent.Status) (text string) {
	if slices.ContainsFunc(agents, func(s agent.Status) bool { return s.Active != s.Tools }) {
		text += phrase.In(lang, "ACTIVE: how many of the TOOLS its skill shows.\n")
	}
	if slices.ContainsFunc(agents, func(s agent.Status) bool { return s.Guide != "" }) {
		text += phrase.In(lang, "FOLLOWS: the file of the workspace that its instructions include.\n")
	}
	return text
}

// describeHealth says which models failed last, each once.
func describeHealth(lang string, agents []agent.Status) string {
	var b strings.Builder
	var told []string
	for _, s := range agents {
		for _, h := range s.Models {
			if h.Error == "" || slices.Contains(told, h.Model) {
				continue
			}
			told = append(told, h.Model)
			phrase.Fprintf(&b, lang, "%s failed: %s", h.Model, strings.TrimPrefix(h.Error, "model "+h.Model+": "))
			if !h.Rests.IsZero() {
				phrase.Fprintf(&b, lang, "; avoided until %s", h.Rests.Local().Format(time.TimeOnly))
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Approvals lists what waits, and what counts always.
func Approvals(lang string, list api.Approvals) string {
	text := Table[approval.Approval]{
		None: "Nothing waits for an approval.\n", Head: []string{"ID", "TOOL", "RISK", "EXPIRES", "USER"},
		Row: func(x approval.Approval) []string {
			until := phrase.Word(lang, "never")
			if !x.Until.IsZero() {
				until = x.Until.Local().Format(time.DateTime)
			}
			return []string{x.ID, tool.Label(x.Tool, x.Original), x.Risk, until, x.User}
		},
		Below: func(x approval.Approval) string {
			return "    " + strings.ReplaceAll(printable.Text(cmp.Or(x.Question, x.Arguments)), "\n", "\n    ") + "\n"
		},
	}.Text(lang, list.Waiting)
	if len(list.Lasting) == 0 {
		return text
	}
	return text + "\n" + Table[approval.Grant]{
		Wide: true, Head: []string{"ALWAYS", "TOOL", "AGENT", "USER", "BY", "SINCE"},
		Row: func(g approval.Grant) []string {
			return []string{g.ID, g.Tool, g.Agent, g.User, g.By, g.Time.Local().Format(time.DateTime)}
		},
	}.Text(lang, list.Lasting)
}

// Lost says which accounts have given a reply up.
func Lost(lang string, x server.ChannelStatus) (text string) {
	for _, s := range x.Channels {
		if s.Lost != "" {
			text += phrase.In(lang, "%s gave a reply up, which etui inbox list shows: %s\n", s.Name,
				printable.OneLine(s.Lost))
		}
	}
	return text
}

// Channels lists the accounts, and who was let in.
func Channels(lang string, x server.ChannelStatus) string {
	if len(x.Channels) == 0 {
		return phrase.In(lang, "There are no channels: list them under channels in etui.yaml, see docs/channels.md.\n")
	}
	text := Table[channel.State]{
		Wide: true, Head: []string{"CHANNEL", "PLATFORM", "STATE", "RECEIVED", "REFUSED", "SENT", "WAITING",
			"GIVEN UP"},
		Row: func(s channel.State) []string {
			state := phrase.Word(lang, "connected")
			switch {
			case s.Since.IsZero():
				state = phrase.Word(lang, "not running")
			case !s.Connected:
				state = phrase.Word(lang, "not connected")
			}
			return []string{s.Name, s.Platform, state, fmt.Sprint(s.Received), fmt.Sprint(s.Refused),
				fmt.Sprint(s.Sent), fmt.Sprint(s.Waiting), fmt.Sprint(s.GivenUp)}
		},
	}.Text(lang, x.Channels)
	for _, s := range x.Channels {
		if s.Error != "" {
			until := ""
			if !s.Until.IsZero() {
				until = phrase.In(lang, "; tried again at %s", s.Until.Local().Format(time.TimeOnly))
			}
			text += fmt.Sprintf("%s: %s%s\n", s.Name, printable.OneLine(s.Error), until)
		}
	}
	for _, s := range x.Channels {
		for _, why := range s.Unknown {
			text += fmt.Sprintf("%s: %s\n", s.Name, printable.OneLine(why))
		}
	}
	text += Lost(lang, x)
	if !slices.ContainsFunc(x.Channels, func(s channel.State) bool { return !s.Since.IsZero() }) {
		text += phrase.In(lang, "\nNo gateway runs them now: etui serve starts it.\n")
	}
	for _, people := range []struct {
		head string
		list []channel.Pairing
	}{{"CODE", x.Waiting}, {"LET IN", x.Paired}} {
		if len(people.list) > 0 {
			text += "\n" + Table[channel.Pairing]{
				Wide: true, Head: []string{people.head, "CHANNEL", "USER", "NAME", "SINCE"},
				Row: func(p channel.Pairing) []string {
					since := p.Time.Local().Format(time.DateTime)
					return []string{p.Code, p.Channel, printable.OneLine(p.User), printable.Line(p.Name, 30), since}
				},
			}.Text(lang, people.list)
		}
	}
	return text
}

// Tasks lists the tasks.
func Tasks(lang string, tasks []schedule.Task) string {
	return Table[schedule.Task]{
		None: "There are no tasks.\n", Head: []string{"ID", "NEXT", "WHEN", "ZONE", "USER", "TEXT"},
		Row: func(t schedule.Task) []string {
			next := phrase.Word(lang, "never")
			switch {
			case t.Paused:
				next = phrase.Word(lang, "paused")
			case !t.Next.IsZero():
				next = t.Next.Local().Format(time.DateTime)
				if zone, err := time.LoadLocation(t.Zone); err == nil && t.Zone != "" { // as the task counts
					next = t.Next.In(zone).Format("2006-01-02 15:04:05 MST")
				}
			}
			return []string{t.ID, next, printable.Line(t.When, 40), t.Zone, t.User, t.Text}
		},
	}.Text(lang, tasks)
}

// RetryNote says that a message is taken up again.
func RetryNote(lang string, i inbox.Item) string {
	session := client.SessionName(i.Session)
	return phrase.In(lang, "Message %s is taken up again; etui sessions show %s shows its answer.\n",
		strconv.FormatInt(i.ID, 10), session)
}

// DropNote says that a message is dropped.
func DropNote(lang string, i inbox.Item) string {
	return phrase.In(lang, "Message %s is dropped.\n", strconv.FormatInt(i.ID, 10))
}

// Item shows a message of the inbox.
func Item(lang string, i inbox.Item) string {
	var b strings.Builder
	phrase.Fprintf(&b, lang, "message %s, %s since %s\n  session  %s\n", strconv.FormatInt(i.ID, 10),
		phrase.Word(lang, string(i.State)), i.Accepted.Local().Format(time.DateTime), i.Session)
	if i.User != "" {
		phrase.Fprintf(&b, lang, "  user     %s\n", printable.Line(i.User, 200))
	}
	if i.State == store.Parked {
		phrase.Fprintf(&b, lang, "  parked   %s\n", i.Reason)
	}
	b.WriteString("\n" + terminal.Indent("", i.Text, terminal.Width()))
	return b.String()
}

// Status shows what runs.
func Status(lang string, s api.Status) string {
	var b strings.Builder
	phrase.Fprintf(&b, lang, "etui %s, %s\n\n%s", s.Version, phrase.Count(lang, s.Tools, "tool"),
		Agents(lang, s.Agents))
	if c := s.Configuration; c != nil {
		phrase.Fprintf(&b, lang, "\n%s, in effect since %s\n", c.File, c.Since.Local().Format(time.DateTime))
		if c.Error != "" {
			phrase.Fprintf(&b, lang, "The file cannot be used as it is now; what was read before stays in effect:\n%s\n", c.Error)
		}
		if len(c.Restart) > 0 {
			phrase.Fprintf(&b, lang, "Changed, and in effect at the next start: %s\n", strings.Join(c.Restart, ", "))
		}
	}
	for _, r := range s.Refused {
		phrase.Fprintf(&b, lang, "\nMessages are refused since %s: %s\n", r.Since.Local().Format(time.DateTime),
			r.Error)
	}
	if e := s.Embeddings; e != nil {
		phrase.Fprintf(&b, lang, "\nEmbeddings by %s: %d of %d tools have a vector\n", e.Model, e.Have, e.Tools)
		if e.Error != "" {
			phrase.Fprintf(&b, lang, "The server does not answer, and words alone rank: %s\n", e.Error)
		}
	}
	if len(s.Workflows) > 0 {
		phrase.Fprintf(&b, lang, "\nWorkflows: %s\n", strings.Join(s.Workflows, ", "))
	}
	if len(s.Runs) > 0 {
		rows := [][]string{Head(lang, "RUN", "WORKFLOW", "PHASE", "VISIT", "ROUNDS", "TOKENS", "STATE")}
		for _, r := range s.Runs {
			state := phrase.Word(lang, "runs")
			if r.Waits > 0 {
				state = phrase.Word(lang, "waits for an approval")
			}
			f := r.Flow
			rows = append(rows, []string{
				string(r.Session), f.Workflow, cmp.Or(f.Phase, "-"), fmt.Sprint(f.Visits[f.Phase]),
				fmt.Sprint(f.Rounds), fmt.Sprint(f.AllTokens), state,
			})
		}
		b.WriteString("\n" + terminal.Columns(rows))
	}
	return b.String()
}

// Whoami says who a person is.
func Whoami(lang string, x api.Whoami) string {
	rows := [][]string{{phrase.Word(lang, string(x.Kind)), cmp.Or(x.Sender, phrase.Word(lang, "no name"))}}
	add := func(what string, list ...string) {
		if text := strings.Join(list, ", "); text != "" {
			rows = append(rows, []string{phrase.Word(lang, what), text})
		}
	}
	add("identities", x.Identities...)
	if x.User != x.Sender {
		add("user.id", x.User)
	}
	add("roles", cmp.Or(strings.Join(x.Roles, ", "), phrase.Word(lang, "none")))
	add("groups", x.Groups...)
	add("platform roles", x.PlatformRoles...)
	for _, name := range slices.Sorted(maps.Keys(x.Attrs)) {
		add("attrs."+name, x.Attrs[name])
	}
	add("channel", x.Channel)
	add("session", string(x.Session))
	may := []string{phrase.Word(lang, "speaks for itself only")}
	switch {
	case x.Client.Operator && x.Client.ForOthers:
		may = []string{phrase.Word(lang, "operator"), phrase.Word(lang, "may speak for others")}
	case x.Client.Operator:
		may = []string{phrase.Word(lang, "operator")}
	case x.Client.ForOthers:
		may = []string{phrase.Word(lang, "may speak for others")}
	}
	if x.Client.Key != "" {
		may = append(may, phrase.In(lang, "API key %s", x.Client.Key))
	}
	add("this client", phrase.List(lang, may, len(may)))
	return terminal.Columns(rows)
}

// Forgotten says what was removed of a person.
func Forgotten(lang string, f erase.Report) string {
	var did []string
	for _, kind := range []struct{ name, what string }{
		{"sessions", "conversation"}, {"messages", "message"}, {"turns", "past turn"}, {"calls", "call"},
		{"memories", "memory folder"}, {"tasks", "task"}, {"approvals", "lasting approval"},
		{"requests", "approval request"}, {"chats", "channel record"}, {"logins", "login"},
	} {
		if n := f.Count[kind.name]; n > 0 {
			did = append(did, phrase.Count(lang, n, kind.what))
		}
	}
	text := phrase.In(lang, "Nothing was kept of %s.\n", f.User)
	if !strings.Contains(f.User, ":") {
		text = phrase.In(lang, "Nothing was kept of %s. Somebody whom only a channel knows has its name, too, as in telegram:%s.\n", f.User, f.User)
	}
	if len(did) > 0 {
		text = phrase.In(lang, "Removed of %s: %s.\n", f.User, phrase.List(lang, did, len(did)))
	}
	if n := f.Count["decisions"]; n > 0 {
		text += phrase.In(lang, "%s in the audit made anonymous.\n", phrase.Count(lang, n, "decision"))
	}
	return text
}

// Decisions lists what was decided about calls.
func Decisions(lang string, list []audit.Decision) string {
	return Table[audit.Decision]{
		None: "There are no decisions.\n", Head: []string{"TIME", "TOOL", "USER", "CHANNEL", "DECISION"},
		Row: func(d audit.Decision) []string {
			what, decision := d.Tool, phrase.Word(lang, "allowed")
			if d.Skill != "" {
				what = phrase.In(lang, "skill %s", d.Skill)
			}
			switch {
			case d.OfApproval():
				decision = phrase.Word(lang, d.Stage)
			case !d.Allowed:
				decision = phrase.In(lang, "refused: %s", phrase.Word(lang, d.Stage))
			}
			return []string{d.Time.Local().Format(time.DateTime), what, d.User, d.Channel, decision}
		},
		Below: func(d audit.Decision) (lines string) {
			for _, text := range []string{d.Reason, d.Arguments} {
				if text != "" {
					lines += terminal.Hang("    ", phrase.Word(lang, text), terminal.Width())
				}
			}
			return lines
		},
	}.Text(lang, list)
}

// Verdict says whether the chain of the audit is unbroken.
func Verdict(lang string, v audit.Verdict) string {
	var b strings.Builder
	if v.Unbroken {
		phrase.Fprintf(&b, lang, "%s, unbroken.\n", phrase.Count(lang, v.Records, "record"))
	} else {
		phrase.Fprintf(&b, lang, "%s, broken:\n", phrase.Count(lang, v.Records, "record"))
		for _, broken := range v.Breaks {
			at := ""
			if !broken.Time.IsZero() {
				at = broken.Time.Local().Format(time.DateTime) + "  "
			}
			fmt.Fprintf(&b, "  %s%s\n", at, printable.Line(broken.What, 200))
		}
		if len(v.Breaks) >= audit.MaxBreaks {
			phrase.Fprintf(&b, lang, "  There may be more.\n")
		}
	}
	if v.Dropped > 0 {
		phrase.Fprintf(&b, lang, "%d more were dropped by the limits or because a person was forgotten; the chain says so.\n", v.Dropped)
	}
	switch v.Compared {
	case "same":
		phrase.Fprintf(&b, lang, "The head that was kept is part of the chain.\n")
	case "dropped":
		phrase.Fprintf(&b, lang, "The record of the head that was kept has been dropped since, so it cannot be compared.\n")
	}
	if v.Head != "" {
		phrase.Fprintf(&b, lang, "Head: %s\n", v.Head)
	}
	return b.String()
}

// Usage lists past turns.
func Usage(lang string, kept learning.Record) string {
	state := phrase.In(lang, "Turns are not being kept: set usage: {keep: true} in etui.yaml.\n")
	switch {
	case kept.Vote:
		state = phrase.In(lang, "Turns are being kept, and vote for the tools that answered them.\n")
	case kept.Keep:
		state = phrase.In(lang, "Turns are being kept. They do not vote.\n")
	}
	if len(kept.Turns) == 0 {
		return phrase.In(lang, "There are no past turns. ") + state
	}
	return Table[usage.Turn]{
		Wide: true, Head: []string{"TIME", "AGENT", "USER", "TOOLS", "QUESTION"},
		Row: func(t usage.Turn) []string {
			tools := t.Tools
			for _, name := range t.Failed {
				tools = append(tools, phrase.In(lang, "%s (failed)", name))
			}
			when, question := t.Time.Local().Format("2006-01-02 15:04"),
				printable.Line(t.Text, max(terminal.Width()-60, 20))
			return []string{when, t.Agent, t.User, strings.Join(tools, ","), question}
		},
	}.Text(lang, kept.Turns) + state
}
