package doctor

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/folder"
	"github.com/etui-run/etui/cmd/internal/install"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/hub"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
)

// gaps lists what this configuration leaves unprotected on this machine, and how to
// change that.
func (s *Subject) gaps(ctx context.Context) []Finding {
	return slices.Concat(s.openCommands(), s.openCalls(ctx), s.openPeople(), s.openToGuests(), s.openReaders(),
		s.openSkills(ctx), s.openPlace(s.Workspace, s.Readable))
}

// gapIn is a gap; its texts are phrases.
func (s *Subject) gapIn(check, says, do string) []Finding {
	return []Finding{{Check: check, OK: true, Says: phrase.Word(s.Language, says), Do: phrase.Word(s.Language, do),
		Section: Gap}}
}

// openCommands lists what the sandbox's mode leaves open.
func (s *Subject) openCommands() (list []Finding) {
	w := s.Workspace
	programs := s.Programs.Status()
	exec, shell := s.Engine.Catalog().Get("exec")
	shell = shell && !disabled(w.Config.Tools.Disabled, exec.Definition)
	weaker := "Mode strong closes more: docs/sandbox.md, When a mode is not there."
	if w.Config.Sandbox.Mode == string(programs.Mode) {
		weaker = "sandbox: {mode: auto} takes mode strong where it works, which closes more."
	} else if len(programs.Missing) > 0 {
		weaker = s.say("Mode strong closes more. Here: %s. docs/sandbox.md, When a mode is not there, helps.",
			programs.Missing[0])
	}
	switch {
	case programs.Mode == sandbox.Off:
		return s.gapIn("commands", "Commands, programs of skills and MCP servers run with all your rights: they read your keys, change your files and reach your network.", "sandbox: {mode: auto}")
	case programs.Mode == sandbox.None:
		return nil
	case programs.Mode != sandbox.Strong:
		list = s.gapIn("sandbox", s.say("In mode %s programs see which other programs run, and names and sizes of files elsewhere.", programs.Mode), weaker)
	}
	if !shell {
		return list
	}
	if len(s.Hosts) > 0 {
		list = append(list, s.gapIn("sandbox",
			s.say("Commands of a model reach %s, and can send what they read there.",
				phrase.List(s.Language, s.Hosts, 10)), "sandbox: {network: []}")...)
	}
	return append(list, s.gapIn("workspace",
		"What other programs trust (.envrc, .vscode, hooks of git) is put back only when a model's command ends.",
		"Look at new files before you open the workspace in other programs.")...)
}

// openCalls lists the destructive tools that run without an approval, and the tools
// whose results may carry instructions that misuse them.
func (s *Subject) openCalls(ctx context.Context) (list []Finding) {
	w := s.Workspace
	c := s.Engine.Catalog()
	guest := chat.Facts{Agent: s.Engine.Agents().Roster.Names()[0], Time: time.Now()}
	var destructive, changing, reading []string
	for _, d := range c.Definitions(guest) {
		e, ok := c.Get(d.Name)
		if !ok || disabled(w.Config.Tools.Disabled, d) {
			continue
		}
		decision := s.Decide(ctx, rules.Attempt{Facts: guest, Catalog: c, Now: c, Entry: e})
		if decision.Effect != rules.Allow && !decision.Depends {
			continue
		}
		switch d.Risk {
		case tool.Destructive:
			name := d.Name
			if decision.Depends {
				name += s.say(" (depending on its arguments)")
			}
			destructive = append(destructive, name)
		case tool.Write:
			changing = append(changing, d.Name)
		}
		if slices.Contains([]string{"web_fetch", "web_search"}, d.Name) ||
			slices.Contains([]string{"mcp", "http"}, d.Source) {
			reading = append(reading, d.Name)
		}
	}
	if n := len(destructive); n > 0 {
		list = s.gapIn("asking", s.say("A model runs %s without asking you, for anyone: %s.",
			phrase.Count(s.Language, n, "destructive tool"), phrase.List(s.Language, destructive, 4)),
			"policy: {default: {destructive: ask}} lets them wait for your /approve; rules let some run: docs/policy.md")
	}
	if len(reading) > 0 {
		list = append(list, s.gapIn("pages",
			s.say("Texts from outside (%s) can hold instructions: prompt injection. A model may follow them, with %s that it may run, and tell strangers what it has read.",
				phrase.List(s.Language, reading, 2),
				phrase.Count(s.Language, len(destructive)+len(changing), "changing tool")),
			"Disable what you do not need: tools: {disabled: [web_fetch, exec]}; or write rules by channel: docs/policy.md")...)
	}
	return list
}

// disabled reports whether the configuration switches a tool off.
func disabled(list []string, d tool.Definition) bool {
	return slices.ContainsFunc(list, func(name string) bool {
		group, isGroup := strings.CutPrefix(name, "group:")
		return name == d.Name || isGroup && slices.Contains(d.Groups, group)
	})
}

// openPeople lists what callers can claim about themselves.
func (s *Subject) openPeople() (list []Finding) {
	w := s.Workspace
	if w.Config.API.Key == "" {
		list = s.gapIn("users", "Every program and user of this machine can use the gateway and claim to be any user.",
			"ETUI_API_KEY in the environment, or api: {key: ${GATEWAY_KEY}}")
	} else {
		speaking := "api.key"
		for _, k := range s.Keys.List() {
			if k.ForOthers {
				speaking += ", " + k.Name
			}
		}
		list = s.gapIn("users", s.say("Anyone with one of these keys can claim to be any user and to have any role: %s.", speaking), "Give people keys of their own: etui keys add NAME --user USER; docs/people.md. Keys for others are for programs that check who their users are.")
	}
	if !onThisMachine(w.Config.Listen) {
		list = append(list, s.gapIn("network",
			"The gateway speaks plain HTTP: others on the network can read the key and all messages.",
			"listen: 127.0.0.1:3884, behind a proxy that speaks TLS")...)
	}
	if c := w.Config.API.Console; c.URL != "" {
		says := s.say("The console answers other machines at %s, to a name at %s that the file lists.", c.URL, c.Issuer)
		switch {
		case c.Issuer == "":
			says = s.say("The console answers other machines at %s, to an operator's key.", c.URL)
		case c.Keys:
			says = s.say("The console answers other machines at %s, to an operator's key or a name at %s that the file lists.", c.URL, c.Issuer)
		}
		list = append(list, s.gapIn("console", says, "Without api.console.url, it answers on this machine only.")...)
	}
	v := w.Config.Visibility
	if w.Config.API.Key != "" && len(v.Rules) == 0 && v.Default.Write == "allow" && v.Default.Destructive == "allow" {
		list = append(list, s.gapIn("visibility",
			s.say("All callers see all %s.", phrase.Count(s.Language, s.Engine.Catalog().Len(), "tool")),
			"visibility: {rules: ...}: docs/visibility.md")...)
	}
	return list
}

// openToGuests lists what anybody may use who opens a page with a chat for guests.
func (s *Subject) openToGuests() (list []Finding) {
	for _, ch := range s.Workspace.Config.Channels {
		if !ch.Guests {
			continue
		}
		c := s.Engine.Catalog()
		f := chat.Facts{Agent: s.Engine.Agents().Roster.Names()[0], Channel: ch.Type, Chat: "guest", User: "guest",
			Sender: ch.Type + ":guest", PlatformRoles: []string{"guest"},
			Attrs: map[string]string{"account": cmp.Or(ch.Name, ch.Type)}, Time: time.Now()}
		denied, _ := c.Denied(&f)
		var names []string
		for e := range c.All() {
			visible, _ := e.Visible(&f) // a filter that fails hides
			if visible && e.On(f.Channel) && (denied == nil || !denied[e.Position()]) {
				names = append(names, e.Definition.Name)
			}
		}
		says := s.say("Guests of the channel %s may use no tools.", cmp.Or(ch.Name, ch.Type))
		if len(names) > 0 {
			says = s.say("Guests of the channel %s, which is anybody, may use %s: %s.", cmp.Or(ch.Name, ch.Type),
				phrase.Count(s.Language, len(names), "tool"), phrase.List(s.Language, names, 10))
		}
		list = append(list, s.gapIn("guests", says,
			`rules under visibility with '"guest" in platform.roles' allow them more, or less: docs/channels/web.md`)...)
	}
	return list
}

// onThisMachine reports whether a host, with or without a port, is this machine.
func onThisMachine(address string) bool { return config.Loopback(hostname(address)) }

func hostname(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

// openReaders lists the services that receive what people write and what tools find,
// and the private addresses that the operator has opened.
func (s *Subject) openReaders() (list []Finding) {
	w := s.Workspace
	c := w.Config
	hosts := map[string]string{"openai": "api.openai.com", "anthropic": "api.anthropic.com"}
	var readers []string
	add := func(address, otherwise string) {
		host := otherwise
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			host = u.Host
		}
		if host != "" && !onThisMachine(host) && !slices.Contains(readers, host) {
			readers = append(readers, host)
		}
	}
	for _, m := range s.Configured {
		add(m.BaseURL, hosts[m.Provider])
	}
	if c.Embeddings.Model != "" {
		add(c.Embeddings.BaseURL, hosts["openai"])
	}
	if len(readers) > 0 {
		list = s.gapIn("models", s.say("%s read what is written here, and what tools find for it.",
			phrase.List(s.Language, readers, 3)),
			"A model of your own: models: [{name: own, provider: openai, base_url: http://127.0.0.1:11434/v1, ...}]")
	}
	if opened := slices.Concat(c.Skills.Local, c.Tools.Local); len(opened) > 0 {
		list = append(list, s.gapIn("addresses",
			s.say("Private addresses are open to tools and skills: %s.", phrase.List(s.Language, opened, 4)),
			"skills.local and tools.local in etui.yaml")...)
	}
	return list
}

// openSkills lists skills with more rights than others, and unsigned skills.
func (s *Subject) openSkills(ctx context.Context) (list []Finding) {
	w := s.Workspace
	var trusted []string
	for _, e := range s.Skills.Snapshot().All() {
		if e.State == skill.Enabled {
			if given := s.Given(e.Name()); given != "" {
				trusted = append(trusted, e.Name()+" ("+given+")")
			}
		}
	}
	if len(trusted) > 0 {
		list = s.gapIn("skills", s.say("These skills' programs have more rights than others, and can misuse them: %s.",
			phrase.List(s.Language, trusted, 4)), "etui skills disable NAME, if you do not trust its author")
	}
	if unsigned := s.unsigned(ctx); len(unsigned) > 0 {
		list = append(list, s.gapIn("skills",
			s.say("No publisher that you trust has signed these skills from registries: %s.",
				phrase.List(s.Language, unsigned, 4)),
			"Read them: etui skills show NAME; skills.registries: [{..., roots: [FILE]}] takes signed ones without asking")...)
	}
	if w.Config.Skills.Model == "install" {
		list = append(list, s.gapIn("skills", "A model can install skills from registries.",
			"skills: {model: find}")...)
	}
	return list
}

// unsigned returns the enabled skills that were installed without a trusted
// signature.
func (s *Subject) unsigned(ctx context.Context) (names []string) {
	in, err := install.Skills(s.Workspace, nil)
	if err != nil {
		return nil // the commands that install skills report it
	}
	installed, err := in.List(ctx)
	if err != nil {
		return nil // they report this, too
	}
	for _, i := range installed {
		if _, err := s.Skills.Get(i.Name); err == nil && i.Origin != nil && i.Origin.Signature != hub.Verified {
			names = append(names, i.Name)
		}
	}
	return names
}

// openPlace lists problems with the folders that etui works in or reads.
func (s *Subject) openPlace(w *workdir.Workspace, readable []string) (list []Finding) {
	home, err := os.UserHomeDir()
	dirs := w.Folders()
	if !w.Config.Tools.Builtin {
		dirs = nil // no tool reads them
	}
	for _, dir := range dirs {
		place := s.say("the workspace")
		if dir != w.Dir {
			place += " " + dir
		}
		if err == nil && folder.Within(dir, home) {
			list = append(list, s.gapIn("workspace",
				s.say("The workspace %s contains your home folder: tools can read the keys in it.", dir),
				"A folder of its own: etui --workspace FOLDER")...)
		}
		if folder.Within(dir, w.State) {
			list = append(list, s.gapIn("state",
				s.say("The state folder is in %s: a command without a sandbox can read what all users wrote.", place),
				"state: a folder elsewhere")...)
		}
		if keys := keyFiles(dir); len(keys) > 0 {
			list = append(list, s.gapIn("keys",
				s.say("Tools and commands can read %s in %s.", phrase.List(s.Language, keys, 4), place),
				"Move them elsewhere.")...)
		}
	}
	for _, dir := range readable {
		if keys := keyFiles(dir); len(keys) > 0 {
			list = append(list, s.gapIn("keys",
				s.say("Tools and commands can read %s in %s.", phrase.List(s.Language, keys, 4), dir),
				"Move them elsewhere.")...)
		}
	}
	if os.Geteuid() == 0 {
		list = append(list, s.gapIn("root", "etui runs as root: nothing limits what a fault in etui itself can do.",
			"Run it as an ordinary user.")...)
	}
	return list
}

// keyFiles returns the files at the top of a folder that look like keys.
func keyFiles(dir string) (list []string) {
	for _, pattern := range []string{".env", ".env.*", "*.pem", "*.key", "id_*", ".netrc", ".npmrc", ".pypirc", ".aws",
		".ssh", ".kube"} {
		found, _ := filepath.Glob(filepath.Join(dir, pattern)) // fails for malformed patterns only
		for _, path := range found {
			if name := filepath.Base(path); !strings.HasSuffix(name, ".example") && !strings.HasSuffix(name, ".pub") &&
				!slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	return list
}
