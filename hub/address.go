package hub

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/etui-run/etui/hub/internal/archive"
	"github.com/etui-run/etui/phrase"
)

// address is what people copy to name a repository, or a folder in it: the URL of a page, or that
// of a clone.
type address struct {
	host string
	ref  Ref
}

var (
	scpLike = regexp.MustCompile(
		`^(?:[A-Za-z0-9._-]+@)?([A-Za-z0-9.-]+\.[A-Za-z]{2,}):([^:]+)$`,
	) // git@github.com:owner/name.git
	hostPath = regexp.MustCompile(
		`^[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}/[^/]+/[^/]+`,
	) // github.com/owner/name
)

// installs matches the command with which another program installs a skill, or git copies it.
var installs = regexp.MustCompile(`^(?:\$ )?(?:(?:npx|bunx|pnpx|pnpm dlx|yarn dlx|bun x) +(?:-y +|--yes +)?)?` +
	`(?:skills|clawhub|git)(?:@\S+)? +(?:add|install|i|clone) +(.+)$`)

// IsCommand reports whether words are the command with which another program installs a skill.
func IsCommand(words string) bool { return installs.MatchString(strings.TrimSpace(words)) }

// pasted returns what a command of another program installs: people paste it whole.
func pasted(words string) string {
	found := installs.FindStringSubmatch(strings.TrimSpace(words))
	if found == nil {
		return words
	}
	source, name := "", ""
	for option := ""; ; {
		field, rest, _ := strings.Cut(strings.TrimSpace(found[1]), " ")
		field = strings.Trim(field, `'"`)
		found[1] = rest
		switch {
		case field == "" && name != "" && name != "*" && !strings.Contains(source, "@"):
			return source + "@" + name
		case field == "":
			return source
		case strings.HasPrefix(field, "-"):
			if option, rest, _ = strings.Cut(field, "="); rest != "" {
				found[1] = rest + " " + found[1]
			}
			continue
		case option == "-s" || option == "--skill":
			name = field
		case slices.Contains([]string{"-a", "--agent", "-b", "--branch", "--depth", "--version"}, option):
		case source == "":
			source = field
		}
		option = ""
	}
}

// isAddress reports whether words are an address, and not the name of a skill.
func isAddress(words string) bool {
	return strings.Contains(words, "://") || scpLike.MatchString(words) || hostPath.MatchString(words)
}

// parseAddress reads an address. A page of a folder, as /tree/BRANCH/FOLDER, names the version and
// the skill's place.
func parseAddress(words, version string) (a address, err error) {
	text := strings.TrimPrefix(words, "git+")
	if found := scpLike.FindStringSubmatch(text); found != nil && !strings.Contains(text, "://") {
		text = "ssh://" + found[1] + "/" + found[2]
	} else if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "ssh", "git"}, u.Scheme) {
		return a, phrase.Errorf(
			"%s is no address of a repository; write https://HOST/owner/repository, owner/repository@name, or the path of a folder or an archive",
			archive.Quote(words),
		)
	}
	a.host = strings.ToLower(u.Hostname())
	if u.Port() != "" && u.Scheme != "ssh" {
		a.host = strings.ToLower(u.Host)
	}
	if a.host == "www.github.com" {
		a.host = "github.com"
	}
	a.ref, err = parsePath(u.Path, u.Fragment, version)
	return a, err
}

// parsePath reads owner/repository@name, also with a folder behind it or the path of a folder's page.
func parsePath(text, branch, version string) (Ref, error) {
	rest, name, _ := strings.Cut(strings.Trim(text, "/"), "@")
	parts := strings.Split(rest, "/")
	if len(parts) < 2 || !isRepository(parts[0]+"/"+parts[1]) {
		return Ref{}, phrase.Errorf(
			"%s names no skill; write owner/repository@name, or https://HOST/owner/repository",
			archive.Quote(text),
		)
	}
	more := parts[2:]
	if len(more) > 0 && more[0] == "-" { // GitLab's
		more = more[1:]
	}
	if len(more) > 1 && slices.Contains([]string{"tree", "blob", "raw", "src"}, more[0]) {
		if more[0] == "src" && len(more) > 2 &&
			slices.Contains([]string{"branch", "tag", "commit"}, more[1]) { // Gitea's
			more = more[1:]
		}
		branch, more = more[1], more[2:]
	}
	if len(more) > 0 && more[len(more)-1] == archive.Manifest {
		more = more[:len(more)-1]
	}
	return Ref{
		Owner: parts[0] + "/" + strings.TrimSuffix(
			parts[1],
			".git",
		), Name: name, Folder: path.Join(more...), Version: cmp.Or(version, branch),
	}, nil
}

// line is the registry that a configuration needs for a host.
func (a address) line() string {
	template := map[string]string{
		"github.com": "", "gitlab.com": "/{repository}/-/archive/{version}/a.tar.gz",
		"bitbucket.org": "/{repository}/get/{version}.tar.gz",
	}
	form, known := template[a.host]
	switch {
	case known && form == "":
		return "{name: github, type: git}"
	case !known:
		form = "/{repository}/archive/{version}.tar.gz"
	}
	name, _, _ := strings.Cut(a.host, ".")
	return fmt.Sprintf(`{name: %s, type: git, url: "https://%s%s"}`, name, a.host, form)
}

// hosts reports whether the source gives the repositories of a host.
func (g *Git) hosts(host string) bool {
	u, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(g.template))
	return err == nil && strings.EqualFold(u.Host, host)
}
