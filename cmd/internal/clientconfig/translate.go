package clientconfig

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/secret"
)

// translation turns the entry of one server into a skill's file.
type translation struct {
	*Reader
	found Entry
	names map[string]bool // of the variables
}

func (x *translation) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(x.found.Notes, text) {
		x.found.Notes = append(x.found.Notes, text)
	}
}

func (x *translation) fail(format string, args ...any) {
	if x.found.Problem == "" {
		x.found.Problem = fmt.Sprintf(format, args...)
	}
}

func (x *translation) result() Entry {
	x.found.Variables = slices.Sorted(maps.Keys(x.names))
	if x.found.Server.Name != x.found.Name {
		x.note("its name there is %s", printable.Line(x.found.Name, 100))
	}
	return x.found
}

func (x *translation) server(entry any) {
	s := &x.found.Server
	s.Description, s.Provider = "The tools of the MCP server "+s.Name+".", "mcp"
	e, ok := entry.(map[string]any)
	if !ok {
		x.fail("its entry is no object")
		return
	}
	if custom, ok := e["command"].(map[string]any); ok { // of Zed
		e = custom
		e["command"] = cmp.Or(custom["path"], custom["command"])
	}
	if on, ok := e["enabled"].(bool); ok && !on || e["disabled"] == true {
		x.fail("it is switched off there")
	}
	if text, ok := e["description"].(string); ok && strings.TrimSpace(text) != "" {
		s.Description = printable.Line(text, 300)
	}
	command := append(list(e["command"]), list(e["args"])...)
	endpoint := ""
	for _, key := range []string{"url", "serverUrl", "httpUrl", "endpoint", "uri"} {
		if text, ok := e[key].(string); ok && endpoint == "" {
			endpoint = text
		}
	}
	s.Include, s.Exclude = append(list(e["enabled_tools"]), list(e["includeTools"])...),
		append(list(e["disabled_tools"]), list(e["excludeTools"])...)
	switch {
	case len(command) > 0 && strings.TrimSpace(command[0]) != "":
		x.program(e, command)
	case endpoint != "":
		x.service(e, endpoint)
	default:
		x.fail("it has neither a command nor a URL")
	}
}

// service translates a server that is reached at a URL.
func (x *translation) service(e map[string]any, endpoint string) {
	s := &x.found.Server
	before, query, found := strings.Cut(endpoint, "?")
	if bare := defaulted.ReplaceAllString(before, "$1"); bare != before {
		x.note("its URL has the defaults of its variables")
		before = bare
	}
	if found {
		before += "?" + query
	}
	base, query, found := strings.Cut(x.references(before, func(name string) string { return "${" + name + "}" }), "?")
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(value); err == nil && !strings.Contains(value, "${") && Hides(name, plain) {
			parts[i] = name + "=" + x.variable(x.own(name), plain)
		}
	}
	s.Endpoint = base
	if found {
		s.Endpoint += "?" + strings.Join(parts, "&")
	}
	if strings.Contains(base, "${") {
		x.fail("its URL names a variable before the query, which etui replaces in headers, env and the query only: write the URL")
	}
	if u, err := url.Parse(base); err == nil && (u.User != nil || slices.ContainsFunc(strings.Split(u.Path, "/"),
		looksSecret)) {
		s.Endpoint = (&url.URL{Scheme: u.Scheme, Host: u.Host}).String() + "/..."
		x.fail("its URL seems to hold a key before its query, and etui writes keys to no file: use a header if the service takes one, or etui mcp add if the URL is no secret")
	}
	s.Headers = map[string]string{}
	for _, key := range []string{"headers", "http_headers"} {
		for name, value := range sorted(texts(e[key])) {
			x.header(name, value)
		}
	}
	for name, variable := range texts(e["env_http_headers"]) {
		s.Headers[name] = x.variable(variable, "")
	}
	if name, ok := e["bearer_token_env_var"].(string); ok {
		s.Headers["Authorization"] = "Bearer " + x.variable(name, "")
	}
	if token, ok := e["bearer_token"].(string); ok {
		x.header("Authorization", "Bearer "+token)
	}
}

// scheme is the beginning of a header that is no secret.
var scheme = regexp.MustCompile(`(?i)^(?:bearer|basic|token|apikey|key|bot)\s+`)

func (x *translation) header(name, value string) {
	text := x.references(value, func(name string) string { return "${" + name + "}" })
	if !reference.MatchString(value) && Hides(name, value) {
		begin := scheme.FindString(value)
		text = begin + x.variable(x.own(name), value[len(begin):])
	}
	x.found.Server.Headers[name] = text
}

// program translates a server that is a program.
func (x *translation) program(e map[string]any, command []string) {
	s := &x.found.Server
	if fields := strings.Fields(command[0]); len(command) == 1 && len(fields) > 1 {
		if _, err := os.Stat(command[0]); err != nil {
			command = fields
		}
	}
	if name := strings.ToLower(strings.TrimSuffix(command[0], ".exe")); name == "cmd" && len(command) > 2 &&
		strings.EqualFold(command[1], "/c") {
		command = command[2:] // Windows needs it to start npx
	}
	if x.remote(command) {
		return
	}
	s.Env = map[string]string{}
	for _, key := range []string{"env", "environment"} {
		for name, value := range sorted(texts(e[key])) {
			x.env(name, value)
		}
	}
	if names, ok := e["env_vars"].([]any); ok {
		for _, entry := range names {
			name, _ := entry.(string)
			if table, ok := entry.(map[string]any); ok {
				name, _ = table["name"].(string)
			}
			if variableName.MatchString(name) {
				s.Env[name] = x.variable(name, "")
			}
		}
	}
	dir := x.folders.Workspace
	if cwd, ok := e["cwd"].(string); ok && cwd != "" {
		dir = absolute(x.references(cwd, nil), x.folders.Workspace)
		x.note("it runs in the folder of its file, not in %s", dir)
		x.grant(dir)
	}
	if file, ok := e["envFile"].(string); ok && file != "" {
		x.envFile(absolute(x.references(file, nil), x.folders.Workspace))
	}
	for i, arg := range command {
		before := ""
		if i > 0 {
			before = command[i-1]
		}
		s.Command = append(s.Command, x.arg(before, arg, dir, i))
	}
}

// remote translates mcp-remote, which reaches a service for clients that only start programs.
func (x *translation) remote(command []string) bool {
	at := slices.IndexFunc(command, func(arg string) bool {
		return arg == "mcp-remote" || strings.HasPrefix(arg,
			"mcp-remote@")
	})
	if at < 0 {
		return false
	}
	rest := command[at+1:]
	i := slices.IndexFunc(rest, func(arg string) bool {
		return strings.HasPrefix(arg, "https://") ||
			strings.HasPrefix(arg, "http://")
	})
	if i < 0 {
		return false
	}
	headers := map[string]any{}
	for j := range rest {
		if name, value, ok := strings.Cut(rest[min(j+1, len(rest)-1)], ":"); ok && rest[j] == "--header" {
			headers[name] = strings.TrimSpace(value)
		}
	}
	x.note("it is reached without mcp-remote")
	x.service(map[string]any{"headers": headers}, rest[i])
	return true
}

func (x *translation) env(name, value string) {
	if !variableName.MatchString(name) {
		x.fail("%q is no name of a variable", printable.Line(name, 60))
		return
	}
	text := x.references(value, func(name string) string { return "${" + name + "}" })
	if !reference.MatchString(value) && Hides(name, value) {
		text = x.variable(name, value)
	}
	x.found.Server.Env[name] = text
}

// envFile takes the names of a file of variables. Their values stay there.
func (x *translation) envFile(file string) {
	f, err := os.Open(file)
	if err != nil {
		x.note("its envFile %s cannot be read", file)
		return
	}
	defer f.Close()
	for lines := bufio.NewScanner(io.LimitReader(f, 1<<20)); lines.Scan(); {
		name, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(lines.Text()), "export "), "=")
		if name = strings.TrimSpace(name); ok && variableName.MatchString(name) && x.found.Server.Env[name] == "" {
			x.found.Server.Env[name] = x.variable(name, "")
		}
	}
	x.note("the values of its variables are in %s", file)
}

// arg translates an argument. A secret becomes a variable of the program's environment.
func (x *translation) arg(before, arg, dir string, i int) string {
	inEnv := func(name string) string {
		bare, fallback, has := strings.Cut(name, ":-")
		if x.found.Server.Env[bare] = "${" + name + "}"; has {
			x.path(fallback, dir)
		}
		return "{env:" + bare + "}"
	}
	if i == 0 {
		arg = defaulted.ReplaceAllString(arg, "$1")
	}
	if reference.MatchString(arg) {
		if arg = x.references(arg, inEnv); strings.Contains(arg, "{env:") {
			return arg
		}
		return x.path(arg, dir)
	}
	hide := func(begin, flag, value string) string {
		name := strings.Trim(x.variable(x.own(flag), value), "${}")
		return begin + inEnv(name)
	}
	flag, value, joined := strings.Cut(arg, "=")
	switch {
	case joined && (strings.HasPrefix(arg, "-") || variableName.MatchString(flag)) && Hides(flag, value):
		return hide(flag+"=", flag, value)
	case strings.HasPrefix(arg, "-"):
		return arg
	case strings.HasPrefix(before, "-") && !strings.Contains(before, "=") && namesSecret(before) && Hides(before, arg):
		return hide("", before, arg)
	case scoped.MatchString(arg): // however random its name looks
	case looksSecret(arg), holdsPassword(arg):
		name, rest, ok := strings.Cut(arg, ":") // a header
		if begin := name + ":" + rest[:len(rest)-len(strings.TrimLeft(rest, " "))]; ok &&
			headerName.MatchString(name) &&
			!strings.HasPrefix(rest, "//") {
			begin += scheme.FindString(arg[len(begin):])
			return hide(begin, name, arg[len(begin):])
		}
		return hide("", "URL", arg)
	}
	if i == 0 && (!strings.ContainsRune(arg, '/') || launcher.MatchString(filepath.Base(arg))) {
		return filepath.Base(arg)
	}
	return x.path(arg, dir)
}

// scoped matches a package of npm, with or without a version.
var scoped = regexp.MustCompile(`^@[a-z0-9~-][a-z0-9._~-]*/[a-z0-9._~-]+(?:@[\w.^~-]+)?$`)

// path grants a path of the machine that is an argument, and makes it absolute.
func (x *translation) path(arg, dir string) string {
	if !strings.ContainsRune(arg, '/') && filepath.Ext(arg) == "" || strings.Contains(arg, "://") {
		return arg
	}
	full := absolute(arg, dir)
	info, err := os.Stat(full)
	if err != nil || strings.HasPrefix(arg, "@") {
		return arg
	}
	switch {
	case sandbox.System(full):
	case info.IsDir():
		x.grant(full)
	case filepath.Base(filepath.Dir(full)) == "bin":
		x.grantFile(full, filepath.Dir(filepath.Dir(full)))
	default:
		x.grantFile(full, packageOf(full))
	}
	return full
}

// packageOf returns the folder of the package that a file belongs to, or that of the file.
func packageOf(file string) string {
	for dir, steps := filepath.Dir(file), 0; steps < 4 && dir != filepath.Dir(dir); dir, steps = filepath.Dir(dir),
		steps+1 {
		for _, name := range []string{"package.json", "pyproject.toml", "requirements.txt"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return dir
			}
		}
	}
	return filepath.Dir(file)
}

// grant lets the program read a folder, if programs may.
func (x *translation) grant(folder string) {
	s := &x.found.Server
	if slices.Contains(s.Read, folder) {
		return
	}
	if _, err := sandbox.Folders([]string{folder}, x.folders.Closed); err != nil {
		x.note("it gets no access to %s: %v", folder, err)
		return
	}
	s.Read = append(s.Read, folder)
	x.note("it may read %s; the key write grants more", folder)
}

// grantFile lets the program read the folder of a file, or the file alone if the folder also holds
// what programs may not see, as the workspace does.
func (x *translation) grantFile(file, folder string) {
	if _, err := sandbox.Folders([]string{folder}, x.folders.Closed); err != nil {
		folder = file
	}
	x.grant(folder)
}

// reference matches the ways in which clients name variables.
var reference = regexp.MustCompile(`\$\{(env|input|file):([^}]*)\}|\{(env|file):([^}]*)\}|\$\{([A-Za-z_/][A-Za-z0-9_]*)(:-[^}]*)?\}|^\$([A-Z_][A-Z0-9_]*)$`)

// defaulted matches references with a default, where etui knows no references.
var defaulted = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*:-([^}]*)\}`)

// references replaces the references to variables in a text. As says how etui names a variable
// there, which may have a default behind :-; nil leaves them out.
func (x *translation) references(text string, as func(name string) string) string {
	given := x.folders
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		m := reference.FindStringSubmatch(ref)
		kind, name := m[1]+m[3], m[2]+m[4]+m[5]+m[7]
		switch name {
		case "workspaceFolder", "workspaceRoot":
			return given.Workspace
		case "workspaceFolderBasename":
			return filepath.Base(given.Workspace)
		case "userHome", "HOME":
			return given.Home
		case "pathSeparator", "/":
			return string(filepath.Separator)
		}
		value, set := os.LookupEnv(name)
		switch {
		case kind == "input" || kind == "file":
			name = x.own(name)
		case m[6] != "" && as == nil && (!set || value == ""):
			return m[6][2:] // its default
		}
		if as == nil || !variableName.MatchString(name) {
			return ""
		}
		fallback := strings.TrimPrefix(m[6], ":-")
		if m[6] == "" || Hides(name, fallback) { // a secret is no default
			return as(strings.Trim(x.variable(name, fallback), "${}"))
		}
		needed := maps.Clone(x.names)
		name = strings.Trim(x.variable(name, ""), "${}")
		x.names = needed // it needs no value
		return as(name + m[6])
	})
}

// variable returns the reference to a variable, for a value that the file has; empty if it has none.
func (x *translation) variable(name, value string) string {
	if slices.Contains([]string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY"}, name) || strings.HasPrefix(name, "ETUI_") {
		name = x.own(name) // etui's own are not for skills
	}
	other := func() bool { return value != "" && x.values[name] != "" && x.values[name] != value }
	if other() {
		name = x.own(name)
	}
	for base, n := name, 2; other(); n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	x.values[name], x.names[name] = cmp.Or(x.values[name], value), true
	return "${" + name + "}"
}

var (
	notInVariable = regexp.MustCompile(`[^A-Z0-9]+`)
	camel         = regexp.MustCompile(`([a-z])([A-Z])`)
)

// own returns the name of a variable of this server, after what the value is for.
func (x *translation) own(what string) string {
	upper := func(text string) string {
		text = camel.ReplaceAllString(text, "${1}_${2}")
		return strings.Trim(notInVariable.ReplaceAllString(strings.ToUpper(text), "_"), "_")
	}
	server, what := upper(x.found.Server.Name), upper(what)
	if strings.HasPrefix(what, server+"_") || what == "" {
		return cmp.Or(what, server)
	}
	if server[0] >= '0' && server[0] <= '9' {
		server = "MCP_" + server
	}
	return server + "_" + what
}

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	launcher     = regexp.MustCompile(`^(?:npx|npm|pnpm|yarn|bunx?|uvx?|pipx|docker|podman)$`)
	headerName   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*$`)
	plainText    = regexp.MustCompile(`^(?i:true|false|yes|no|on|off|none|null)$`)
	number       = regexp.MustCompile(`^\d{1,7}$`)
	keyName      = regexp.MustCompile(`(?i)(?:key|token|pass\w*|pwd|pin|secret|auth\w*)$`)
	tokens       = regexp.MustCompile(`[A-Za-z0-9+/=]{16,}`)
	prefixes     = regexp.MustCompile(`(?:^|[^A-Za-z0-9])(?:sk|pk|ghp|gho|ghs|github_pat|glpat|xox[a-z]|ntn|secret|figd|AKIA|AIza|eyJ|tvly|fc|hf|lin_api|npm|dop_v1)[-_A-Za-z0-9]{8,}`)
)

// Hides reports whether the value of a variable, an option or a header is a secret, as far as its
// name and the value say so. A switch, a size or the path of a file that is there is none.
func Hides(name, value string) bool {
	return !plainValue(name, value) && (namesSecret(name) || looksSecret(value))
}

func plainValue(name, value string) bool {
	if value == "" || plainText.MatchString(value) || number.MatchString(value) && !keyName.MatchString(name) {
		return true
	}
	_, err := os.Stat(value)
	return err == nil && filepath.IsAbs(value)
}

// more matches names of secrets that are too short to be taken for some elsewhere.
var more = regexp.MustCompile(`(?i)(?:^|[-_.])(?:pw|sig|signature|pin)$`)

func namesSecret(name string) bool { return secret.Names(name) || more.MatchString(name) }

// looksSecret reports whether a value looks like a key.
func looksSecret(value string) bool {
	if _, err := os.Stat(value); err == nil || strings.Contains(value, "://") {
		return holdsPassword(value)
	}
	return prefixes.MatchString(value) || slices.ContainsFunc(tokens.FindAllString(value, 16), func(token string) bool {
		letters := strings.ContainsFunc(token, func(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' })
		return letters && strings.ContainsAny(token, "0123456789") && strings.Count(token, "/") < 2
	})
}

// holdsPassword reports whether a value is a URL with a password or a key.
func holdsPassword(value string) bool {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" {
		return false
	}
	_, password := u.User.Password()
	return password || slices.ContainsFunc(slices.Sorted(maps.Keys(u.Query())),
		func(key string) bool { return namesSecret(key) && Hides(key, u.Query().Get(key)) })
}

func absolute(path, dir string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// list reads a text or a list of texts.
func list(v any) (texts []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			texts = append(texts, text(one))
		}
	}
	return texts
}

// texts reads a mapping of names to texts.
func texts(v any) map[string]string {
	all := map[string]string{}
	if m, ok := v.(map[string]any); ok {
		for name, value := range m {
			if value != nil {
				all[name] = text(value)
			}
		}
	}
	return all
}

// sorted goes through a mapping by name, so that variables get the same names each time.
func sorted(m map[string]string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if !yield(name, m[name]) {
				return
			}
		}
	}
}

// text is a value as the environment of a program has it.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
