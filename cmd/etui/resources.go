package main

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/cmd/etui/internal/report"
	"github.com/etui-run/etui/cmd/etui/internal/servers"
	"github.com/etui-run/etui/cmd/etui/internal/top"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/login"
	"github.com/etui-run/etui/inbox"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/learning"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/roster"
	"github.com/etui-run/etui/schedule"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/server/admin"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/session"
)

// resources are the commands about the kinds of things that a gateway has.
func resources() []action {
	return []action{
		agents(), approvals(), auditRecords(), channels(), cron(), forget(), inboxItems(), keys(), mcpServers(),
		memory(), sessions(), skills(),
		status(), tools(), topAction(), usageRecords(), whoami(),
	}
}

func agents() action {
	var skill, groups string
	var skills []string
	var change roster.Change
	return action{
		use: "agents", short: "List the agents, and change those of a running gateway",
		actions: []action{
			{
				use: "list", short: "List the agents: their models, tools and skills",
				run: get("/api/agents", report.Agents),
			},
			{
				use: "set NAME", short: "Change an agent of a running gateway from its next turn on",
				names: (*client.Client).AgentNames,
				example: "  etui agents set main --groups file,shell\n" +
					"  etui agents set main --skills office,oncall --skill office\n" +
					"  etui agents set main --groups \"\" --skills \"\"    all again",
				otherwise: "change the agent in etui.yaml instead",
				flags: func(f *pflag.FlagSet) {
					f.StringVar(&skill, "skill", "", "skill that is active in conversations that chose none")
					f.StringVar(&groups, "groups", "",
						"give it only the tools of these groups, as in file,shell; empty: all")
					f.StringSliceVar(&skills, "skills", nil,
						"offer the model only these skills; empty: all, None: no skill")
				},
				check: func(c *call) error {
					if c.flags.Changed("skill") {
						change.Skill = &skill
					}
					if c.flags.Changed("groups") {
						change.Groups = &groups
					}
					if c.flags.Changed("skills") {
						change.Skills = append([]string{}, skills...)
					}
					if change.Skill == nil && change.Groups == nil && change.Skills == nil {
						return config.Usagef("nothing to change: give --skill, --groups or --skills")
					}
					return nil
				},
				run: send(http.MethodPut, "/api/agents/{}", &change, func(lang string, s agent.Status) string {
					return report.Agents(lang, []agent.Status{s})
				}),
			},
		},
	}
}

func approvals() action {
	var said api.ApprovalAnswer
	var lasts string
	return action{
		use: "approvals", short: "List the calls that wait for an approval, and decide about them",
		example: "  etui approvals list\n  etui approvals approve k3f9ab\n  etui approvals revoke k3f9ab",
		long: `List the calls that wait for an approval, and the approvals that count always. A decision here is that of
an operator: it counts whatever the rules for approvals say. People decide with /approve and /deny in
their conversation.`,
		actions: []action{
			{
				use: "list", short: "List what waits, and the approvals that count always", needs: records,
				run: get("/admin/approvals", report.Approvals),
			},
			{
				use: "approve ID", short: "Let a call run", needs: changes,
				example: "  etui approvals approve k3f9ab --for session",
				flags: func(f *pflag.FlagSet) {
					f.StringVar(&lasts, "for", "once", "once, session, or always: until it is revoked")
				},
				check: func(*call) error {
					yes := true
					said = api.ApprovalAnswer{Approved: &yes, Lasts: session.Lasts(strings.TrimPrefix(lasts, "once"))}
					if !said.Lasts.Known() {
						return config.Usagef("--for is once, session or always, not %q", lasts)
					}
					return nil
				},
				run: send(http.MethodPost, "/admin/approvals/{}", &said, func(lang string, x approval.Approval) string {
					return phrase.In(lang, "%s may run; its conversation goes on: etui sessions show %s\n", x.Tool,
						client.SessionName(x.Session))
				}),
			},
			{
				use: "deny ID", short: "Decline a call", needs: changes,
				example: "  etui approvals deny k3f9ab --reason 'not on Fridays'",
				flags:   func(f *pflag.FlagSet) { f.StringVar(&said.Reason, "reason", "", "why; the model reads it") },
				check:   func(*call) error { said.Approved = new(bool); return nil },
				run: send(http.MethodPost, "/admin/approvals/{}", &said, func(lang string, x approval.Approval) string {
					return phrase.In(lang, "%s is declined; its conversation goes on: etui sessions show %s\n", x.Tool,
						client.SessionName(x.Session))
				}),
			},
			{
				use: "revoke ID", short: "Take back an approval that counts always", needs: changes,
				example: "  etui approvals revoke k3f9ab",
				run: send(http.MethodDelete, "/admin/approvals/{}", nil, func(lang string, _ []approval.Grant) string {
					return phrase.In(lang, "Revoked: calls are asked about again.\n")
				}),
			},
		},
	}
}

func channels() action {
	var code server.Code
	var m server.ChannelMessage
	return action{
		use: "channels", short: "See where people talk to the agents, and let people in",
		example: "  etui channels list\n" +
			"  etui channels test telegram\n" +
			"  etui channels pair K3F9ABCD\n" +
			"  etui channels send telegram 4711 \"the deployment is done\"",
		long: `See the channels of the configuration - where people talk to the agents -, try them, and let people in who
were given a code. A channel is closed to everybody whom its keys allow and groups do not name.`,
		actions: []action{
			{
				use: "list", short: "List the channels, and the people with codes", needs: records,
				run: get("/admin/channels", report.Channels),
			},
			{
				use: "test NAME", short: "Ask the platform which account a channel has", needs: records,
				example: "  etui channels test telegram",
				run: send(http.MethodPost, "/admin/channels/{}/test", nil,
					func(lang string, x server.ChannelAccount) string {
						return phrase.In(lang, "%s works: the account is %s.\n", x.Name, printable.OneLine(x.Account))
					}),
			},
			{
				use: "pair CODE", short: "Let in whoever was given a code", needs: changes | records,
				example: "  etui channels pair K3F9ABCD",
				check:   func(c *call) error { code.Code = c.args[0]; return nil },
				run: send(http.MethodPost, "/admin/channels/pair", &code, func(lang string, p channel.Pairing) string {
					name, user := cmp.Or(printable.OneLine(p.Name), phrase.Word(lang, "the person")),
						printable.OneLine(p.User)
					return phrase.In(lang, "%s (%s) can write to %s now. Take it back: etui channels unpair %[3]s %[2]s\n", name, user, p.Channel)
				}),
			},
			{
				use: "unpair NAME USER", short: "Take back what a code gave", needs: changes | records,
				example: "  etui channels unpair telegram 4711",
				run: send(http.MethodDelete, "/admin/channels/{}/people/{}", nil,
					func(lang string, p channel.Pairing) string {
						return phrase.In(lang, "%s cannot write to %s any more.\n", p.User, p.Channel)
					}),
			},
			{
				use: "send NAME CHAT TEXT", short: "Say something in a chat", needs: records,
				example: "  etui channels send telegram 4711 \"the deployment is done\"",
				flags:   func(f *pflag.FlagSet) { f.StringVar(&m.Thread, "thread", "", "thread or topic of the chat") },
				check:   func(c *call) error { m.Chat, m.Text = c.args[1], c.args[2]; return nil },
				run: send(http.MethodPost, "/admin/channels/{}/send", &m,
					func(lang string, _ server.ChannelMessage) string {
						return phrase.In(lang, "Sent.\n")
					}),
			},
		},
	}
}

func cron() action {
	var t schedule.Task
	var catchUp string
	one := func(use, short, method, path, english string) action {
		return action{
			use: use + " ID", short: short, needs: changes | records, example: "  etui cron " + use + " k3f9ab",
			run: send(method, "/admin/tasks/{}"+path, nil, func(lang string, t schedule.Task) string {
				return phrase.In(lang, english+"\n", t.ID)
			}),
		}
	}
	return action{
		use: "cron", short: "Have the clock send messages, once or regularly",
		example: "  etui cron add \"0 9 * * 1-5\" \"what is on today?\" --user alice --zone Europe/Berlin\n" +
			"  etui cron list\n" +
			"  etui cron pause k3f9ab",
		long: `Have the clock send messages to an agent, once or regularly. A task runs while the gateway serves, in the
name of its user and with the rights of that user at that moment; its answer is in its conversation.`,
		actions: []action{
			{
				use: "add WHEN TEXT", short: "Add a task: a cron expression, or a time for one that runs once",
				needs: changes | records,
				long: `Add a task. WHEN is a cron expression - minute, hour, day of the month, month, day of the week, or @daily,
@every 2h - or a time such as 2026-12-24T18:00 or one of RFC 3339 for a task that runs once.`,
				example: "  etui cron add @daily \"sum up the alerts\"\n" +
					"  etui cron add 2026-12-24T18:00 \"wish everybody a merry Christmas\" --catch-up skip",
				flags: func(f *pflag.FlagSet) {
					f.StringVar(&t.Agent, "agent", "", "agent that answers (default: the first one)")
					f.StringVar(&t.User, "user", "", "user in whose name it runs")
					f.StringVar(&t.Channel, "channel", "cli", "channel that it counts as")
					f.StringVar(&t.Session, "session", "",
						"name of the conversation (default: that of the user, or one of its own)")
					f.StringVar(&t.Zone, "zone", "", "time zone, such as Asia/Shanghai (default: the machine's)")
					f.StringVar(&catchUp, "catch-up", "once",
						"what becomes of times when etui did not run: once, skip or all")
				},
				check: func(c *call) error {
					t.When, t.Text, t.CatchUp = c.args[0], c.args[1], schedule.CatchUp(catchUp)
					return nil
				},
				run: send(http.MethodPost, "/admin/tasks", &t, func(lang string, t schedule.Task) string {
					return phrase.In(lang, "Task %s runs next at %s; its answers are in etui sessions show %s\n", t.ID,
						t.NextRun(), client.SessionName(t.Key))
				}),
			},
			{
				use: "list", short: "List the tasks, and when they run", needs: records,
				run: get("/admin/tasks", report.Tasks),
			},
			one("pause", "Leave a task out until it is resumed", http.MethodPost, "/pause", "Task %s is paused."),
			one("resume", "Let a paused task run again", http.MethodPost, "/resume", "Task %s runs again."),
			one("run", "Run a task now, whatever its times", http.MethodPost, "/run", "Task %s has sent its message."),
			one("remove", "Remove a task", http.MethodDelete, "", "Task %s is removed."),
		},
	}
}

func inboxItems() action {
	one := func(use, short, method, path string, needs needs, text func(string, inbox.Item) string) action {
		return action{
			use: use + " ID", short: short, needs: needs, example: "  etui inbox " + use + " 17",
			check: func(c *call) error {
				if _, err := strconv.ParseInt(c.args[0], 10, 64); err != nil {
					return config.Usagef("%q is no ID; etui inbox list shows them", c.args[0])
				}
				return nil
			},
			run: send(method, "/admin/inbox/{}"+path, nil, text),
		}
	}
	return action{
		use: "inbox", short: "List messages that wait or were given up, and decide about these",
		example: "  etui inbox list\n  etui inbox show 17\n  etui inbox retry 17",
		long: `List the messages that were accepted and have no answer yet. One that waits has its turn by itself. One
that is parked was given up, because its turn ended etui again and again, or because no channel took its
reply: try it once more, or drop it.`,
		actions: []action{
			{
				use: "list", short: "List the messages that are parked or wait", needs: records,
				run: get("/admin/inbox", report.Table[inbox.Item]{
					None: "No message waits.\n", Head: []string{"ID", "STATE", "ACCEPTED", "SESSION", "TEXT"},
					Row: func(i inbox.Item) []string {
						when := i.Accepted.Local().Format(time.DateTime)
						return []string{strconv.FormatInt(i.ID, 10), string(i.State), when,
							client.SessionName(i.Session), i.Text}
					},
				}.Text),
			},
			one("show", "Show a message", http.MethodGet, "", records, report.Item),
			one("retry", "Take up a parked message again", http.MethodPost, "/retry", changes|records,
				report.RetryNote),
			one("drop", "Drop a parked message: it is not answered", http.MethodDelete, "", changes|records,
				report.DropNote),
		},
	}
}

func keys() action {
	var n server.NewKey
	return action{
		use: "keys", short: "Make, list and revoke API keys",
		long: `Make, list and revoke API keys. A key belongs to a user of etui.yaml, or to an operator, or lets a
program speak for others with the headers X-Etui-*. etui stores no key, only its hash.`,
		actions: []action{
			{
				use: "list", short: "List the API keys",
				run: get("/admin/keys", report.Keys),
			},
			{
				use: "add NAME", short: "Make an API key, and show it once", needs: changes,
				example: `  etui keys add laptop --user alice      messages with it are from alice
  etui keys add helpdesk --for-others    may say whom messages are from
  etui keys add ops --operator           for commands on the gateway's machine
  etui keys add phone                    of the user with the identity key:phone`,
				flags: func(f *pflag.FlagSet) {
					f.StringVar(&n.User, "user", "", "user of etui.yaml to whom the key belongs")
					f.BoolVar(&n.Operator, "operator", false,
						"give it the powers of an operator, on the gateway's machine")
					f.BoolVar(&n.ForOthers, "for-others", false, "let it say whom a message is from")
					f.BoolVar(&n.NoClientTools, "no-client-tools", false,
						"refuse requests with it that bring tools of their client")
				},
				check: func(c *call) error {
					if n.Name = c.args[0]; n.User != "" && n.Operator {
						return config.Usagef("a key belongs to a user or is an operator's: give --user or --operator")
					}
					return nil
				},
				run: func(ctx context.Context, c *call) error {
					return send(http.MethodPost, "/admin/keys", n, func(lang string, made server.MadeKey) string {
						if made.Problem != "" {
							phrase.Fprintf(c.Err, lang, "warning: %s is refused for now: %s\n", made.Name,
								phrase.Word(lang, made.Problem))
						}
						if made.Note != "" {
							phrase.Fprintf(c.Err, lang, "warning: %s\n", phrase.Word(lang, made.Note))
						}
						return made.Secret + "\n"
					})(ctx, c)
				},
			},
			{
				use: "revoke NAME", short: "Revoke an API key: it is refused from now on", needs: changes,
				example: "  etui keys revoke phone",
				run: send(http.MethodDelete, "/admin/keys/{}", nil, func(lang string, done map[string]string) string {
					return phrase.In(lang, "The key %s is revoked.\n", done["revoked"])
				}),
			},
		},
	}
}

func mcpServers() action {
	var agent, toolset string
	return action{
		use: "mcp", short: "List, add, import and remove MCP servers, log in to them, and serve as one",
		commands: func(at *place) []*cobra.Command {
			in, out := login.Command(at.Console, at.open, version()), login.OutCommand(at.Console, at.open, version())
			return append(servers.Commands(at.servers()), in, out)
		},
		actions: []action{{
			use: "list", short: "List the MCP servers: their state, their tools and where they came from",
			example: "  etui mcp list\n  etui mcp list --json",
			run: func(ctx context.Context, c *call) error {
				var all admin.SkillList
				if err := c.client.Do(ctx, http.MethodGet, "/admin/skills", nil, &all); err != nil {
					return err
				}
				list := servers.List(all)
				return c.Print(list, func() string { return servers.DescribeList(c.Language, list) })
			},
		}, {
			use: "serve", short: "Be an MCP server on standard input and output, for clients that start one",
			needs: changes,
			long: `Be an MCP server on standard input and output, for clients that start one: they find, describe and call
the tools of an agent, and take up its skills. The gateway of the workspace answers, or this process if
none runs. Clients that speak HTTP need no command: http://127.0.0.1:3884/mcp is the same.`,
			example: "  etui mcp serve\n  etui mcp serve --agent support --skill billing",
			flags: func(f *pflag.FlagSet) {
				f.StringVar(&agent, "agent", "", "the `agent`; the first one without it")
				f.StringVar(&toolset, "skill", "", "show only the tools of this `skill` or toolset")
			},
			run: func(ctx context.Context, c *call) error {
				return servers.Serve(ctx, c.Console, c.client, agent, toolset)
			},
		}},
	}
}

func status() action {
	return action{
		use: "status", short: "Show what runs: agents, configuration, workflows", needs: changes,
		run: func(ctx context.Context, c *call) error {
			var s api.Status
			if err := c.client.Do(ctx, http.MethodGet, "/api/status", nil, &s); err != nil {
				return err
			}
			var x server.ChannelStatus
			_ = c.client.Do(ctx, http.MethodGet, "/admin/channels", nil, &x) // not everybody may see them
			return c.Print(s, func() string { return report.Status(c.Language, s) + report.Lost(c.Language, x) })
		},
	}
}

func topAction() action {
	var once bool
	every := 2 * time.Second
	return action{
		use: "top", short: "Watch what the gateway does: turns, approvals, latencies, tokens",
		long: `Watch what the running gateway does: the turns that run, what waits for people, how long turns
and calls take, and the tokens. The screen is read again every two seconds, and q leaves it. With --once or --json, and without
a terminal, it is printed once.`,
		example:   "  etui top\n  etui top --once\n  etui top --json | jq .figures.turns.p95",
		otherwise: "start it with etui serve",
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&once, "once", false, "print it once")
			f.DurationVar(&every, "every", every, "how often it is read; at least 500ms")
		},
		check: func(*call) error {
			if every < 500*time.Millisecond {
				return config.Usagef("--every is at least 500ms")
			}
			return nil
		},
		run: func(ctx context.Context, c *call) error { return top.Show(ctx, c.Console, c.client, every, once) },
	}
}

func whoami() action {
	var who api.Message
	return action{
		use: "whoami", short: "Show who the sender of a message is to etui",
		long: `Show who the sender of a message is to etui: a person of etui.yaml, a peer whom only the channel
knows, or a guest; with the roles, groups and attributes that rules read, and the conversation
that a message would belong to. --as takes an identity, or the name of a user.`,
		example: `  etui whoami --as telegram:42
  etui whoami --as alice
  ETUI_API_KEY=etui_... etui whoami --url https://agent.example.com`,
		flags: func(f *pflag.FlagSet) { placeFlags(f, &who) },
		run:   send(http.MethodPost, "/api/whoami", &who, report.Whoami),
	}
}

func forget() action {
	var yes bool
	return action{
		use: "forget USER", short: "Remove what is kept of a person", needs: changes | records,
		long: `Remove for good what etui keeps of a person: their conversations, what they wrote in conversations with
others, their past turns with the votes for tools, the history of their calls, what agents remember of
them, their tasks, their lasting approvals, their web chats, and that a code let them in. The audit keeps
when which tool was called and what was decided, without the person and the arguments. USER is the
name of a person of etui.yaml, who is then forgotten on all channels, or somebody whom only a channel
knows: telegram:42. See docs/sessions.md for what is not removed.`,
		example: "  etui forget alice\n  etui forget telegram:42 --yes --json",
		flags:   func(f *pflag.FlagSet) { f.BoolVarP(&yes, "yes", "y", false, "do not ask") },
		check: func(c *call) error {
			if yes {
				return nil
			}
			return c.Confirm("Remove all that is kept of %q for good?", c.args[0])
		},
		run: send(http.MethodDelete, "/admin/users/{}", nil, report.Forgotten),
	}
}

func auditRecords() action {
	var f audit.DecisionFilter
	var head string
	return action{
		use: "audit", short: "Show which calls were allowed and which were refused, newest first", needs: records,
		long: `Show which calls were allowed and which were refused, newest first: whose call, at which stage, by
which rule and with which arguments. Secrets are left out and long texts are cut. etui keeps the
newest 10,000 of each kind, for 90 days. Each record carries the hash of the one before; etui audit verify
checks that none was changed, removed or added.`,
		example: "  etui audit --denied\n  etui audit --tool write_file --user alice --json",
		flags: func(flags *pflag.FlagSet) {
			flags.StringVar(&f.Tool, "tool", "", "only calls of this tool")
			flags.StringVar(&f.User, "user", "", "only calls of this user")
			flags.BoolVar(&f.Denied, "denied", false, "only refused calls")
			flags.IntVar(&f.Limit, "limit", 20, "how many to show")
		},
		run: func(ctx context.Context, c *call) error {
			q := url.Values{"tool": {f.Tool}, "user": {f.User}}
			q.Set("denied", strconv.FormatBool(f.Denied))
			q.Set("limit", strconv.Itoa(f.Limit))
			return get("/admin/audit?"+q.Encode(), report.Decisions)(ctx, c)
		},
		actions: []action{{
			use: "verify", short: "Check that no record of the audit was changed, removed or added", needs: records,
			long: `Check that no record of the audit was changed, removed, moved or added since etui wrote it. The exit code is
1 if one was. The last line names the newest record and its hash: keep it where those who could change the
audit cannot write, and give it to a later check with --head. Only that shows that newest records were cut off
together with etui's own note of the end, or that the whole audit was written anew.`,
			example: "  etui audit verify\n  etui audit verify --head 4711:9f86d081…",
			flags: func(flags *pflag.FlagSet) {
				flags.StringVar(&head, "head", "", "compare with a head that was kept: NUMBER:HASH")
			},
			run: func(ctx context.Context, c *call) error {
				var v audit.Verdict
				path := "/admin/audit/verify?" + url.Values{"head": {head}}.Encode()
				err := c.client.Do(ctx, http.MethodGet, path, nil, &v)
				if err == nil {
					err = c.Print(v, func() string { return report.Verdict(c.Language, v) })
				}
				if err == nil && !v.Unbroken {
					err = phrase.Errorf("the audit is broken")
				}
				return err
			},
		}},
	}
}

func usageRecords() action {
	var agent, user string
	var limit int
	var everybody bool
	chosen := func(f *pflag.FlagSet) {
		f.StringVar(&agent, "agent", "", "only this agent's turns")
		f.StringVar(&user, "user", "", "only this user's turns")
	}
	path := func(limit int) string {
		q := url.Values{}
		if agent != "" {
			q.Set("agent", agent)
		}
		if user != "" {
			q.Set("user", user)
		}
		if limit > 0 {
			q.Set("limit", strconv.Itoa(limit))
		}
		return "/api/usage?" + q.Encode()
	}
	return action{
		use: "usage", short: "Show, export and erase the record of past turns",
		long: `Show, export and erase the record of past turns: what was asked and which tools answered. Nothing is
recorded unless etui.yaml says usage: {keep: true}.`,
		actions: []action{
			{
				use: "show", short: "Show the record of past turns, newest last",
				example: "  etui usage show --user alice\n  etui usage show --limit 5 --json",
				flags: func(f *pflag.FlagSet) {
					chosen(f)
					f.IntVar(&limit, "limit", 20, "how many turns to show; 0: all")
				},
				run: func(ctx context.Context, c *call) error { return get(path(limit), report.Usage)(ctx, c) },
			},
			{
				use: "export", short: "Export the record of past turns, one JSON object a line", flags: chosen,
				example: "  etui usage export --user alice > alice.jsonl",
				run: func(ctx context.Context, c *call) error {
					var kept learning.Record
					if err := c.client.Do(ctx, http.MethodGet, path(0), nil, &kept); err != nil {
						return err
					}
					return c.lines(func(line func(any) error) error {
						for _, t := range kept.Turns {
							if err := line(t); err != nil {
								return err
							}
						}
						return nil
					})
				},
			},
			{
				use: "erase", short: "Erase a user's past turns for good",
				long: `Erase a user's past turns for good, with their votes. Conversations are not touched. Name the user as
messages do; the turns of all channels are erased.`,
				example: "  etui usage erase --user alice\n  etui usage erase --everybody",
				flags: func(f *pflag.FlagSet) {
					f.StringVar(&user, "user", "", "whose turns")
					f.BoolVar(&everybody, "everybody", false, "all turns of all users")
				},
				check: func(*call) error {
					if (user == "") == !everybody {
						return config.Usagef("say whose turns to erase: --user ID, or --everybody")
					}
					return nil
				},
				run: func(ctx context.Context, c *call) error {
					q := url.Values{"user": {user}, "everybody": {strconv.FormatBool(everybody)}}
					return send(http.MethodDelete, "/api/usage?"+q.Encode(), nil,
						func(lang string, f api.Forgotten) string {
							return phrase.In(lang, "%s erased.\n", phrase.Count(lang, f.Erased, "turn"))
						})(ctx, c)
				},
			},
		},
	}
}
