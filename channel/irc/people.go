package irc

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ergochat/irc-go/ircmsg"
)

// maxPeople bounds the people of all rooms that are known. Others have no roles.
const maxPeople = 20_000

// crowd are the people of our rooms, by their folded nick.
type crowd map[string]*person

type person struct {
	rooms   map[string]string // to the modes that the person has there
	account string
	bot     bool      // the server says so
	until   time.Time // account is right until then, as long as the person is here
}

func (c crowd) join(nick, room, modes string) {
	p := c[nick]
	if p == nil {
		if len(c) >= maxPeople {
			return
		}
		p = &person{rooms: map[string]string{}}
		c[nick] = p
	}
	p.rooms[room] = modes
}

func (c crowd) leave(nick, room string) {
	if p := c[nick]; p != nil {
		delete(p.rooms, room)
		if len(p.rooms) == 0 { // from now on we do not hear when somebody else takes the nick
			delete(c, nick)
		}
	}
}

// empty forgets who is in a room.
func (c crowd) empty(room string) {
	for nick := range c {
		c.leave(nick, room)
	}
}

func (c crowd) rename(from, to string) {
	if p := c[from]; p != nil {
		delete(c, from)
		c[to] = p
	}
}

// login notes the account of somebody whom we see; * means none. That somebody has none is
// asked again after some minutes, unless the server says when it changes.
func (s *session) login(nick, account string) {
	p := s.people[nick]
	if p == nil {
		return
	}
	p.account, p.until = strings.TrimPrefix(account, "*"), time.Now().Add(5*time.Minute)
	if p.account != "" || s.caps["account-notify"] {
		p.until = time.Now().AddDate(100, 0, 0)
	}
}

// roles are what a person may do in a room, in the words of IRC and in those of all platforms.
func (c crowd) roles(nick, room string) []string {
	p := c[nick]
	if p == nil {
		return nil
	}
	modes, member := p.rooms[room]
	if !member {
		return []string{"guest"}
	}
	var roles []string
	for _, r := range []struct {
		mode  string
		roles []string
	}{
		{"q", []string{"founder", "owner"}}, {"a", []string{"protected", "administrator"}},
		{"o", []string{"operator", "administrator"}},
		{"h", []string{"halfop", "moderator"}}, {"v", []string{"voice"}},
	} {
		if strings.Contains(modes, r.mode) {
			roles = append(roles, r.roles...)
		}
	}
	roles = append(roles, "member")
	slices.Sort(roles)
	return slices.Compact(roles)
}

// prefixes returns the signs before nicks, or the modes that they stand for.
func (s *session) prefixes(modes bool) string {
	value, ok := s.support["PREFIX"]
	if !ok {
		value = "(ov)@+"
	}
	names, signs, _ := strings.Cut(strings.TrimPrefix(value, "("), ")")
	if len(names) != len(signs) {
		return ""
	}
	if modes {
		return names
	}
	return signs
}

// modes turns the signs before a nick into modes.
func (s *session) modes(signs string) string {
	var modes []byte
	for i := range len(signs) {
		if at := strings.IndexByte(s.prefixes(false), signs[i]); at >= 0 {
			modes = append(modes, s.prefixes(true)[at])
		}
	}
	return string(modes)
}

// mode follows a change of modes in a room, of which only those of people matter.
func (s *session) mode(room string, params []string) {
	if len(params) == 0 || !s.isRoom(room) {
		return
	}
	ranks := s.prefixes(true)
	kinds := strings.Split(s.support["CHANMODES"]+",,,", ",")
	set, args := true, params[1:]
	for _, mode := range params[0] {
		m := string(mode)
		switch {
		case m == "+" || m == "-":
			set = m == "+"
			continue
		case strings.Contains(ranks, m), strings.Contains(kinds[0]+kinds[1], m), set && strings.Contains(kinds[2], m):
		default:
			continue // it has no argument
		}
		if len(args) == 0 {
			return
		}
		nick := s.fold(args[0])
		args = args[1:]
		if p := s.people[nick]; p != nil && strings.Contains(ranks, m) {
			if old, member := p.rooms[room]; member {
				p.rooms[room] = strings.ReplaceAll(old, m, "")
				if set {
					p.rooms[room] += m
				}
			}
		}
	}
}

// identity is the lasting ID of a person: the account, or the nick marked as unproven. No
// account is written like a nick.
func (s *session) identity(account, nick string) string {
	if !validNick(account) {
		return "nick/" + s.fold(nick)
	}
	return s.fold(account)
}

// lookUp asks the server who has written, on servers that do not say it with every message: for the
// account, and whether it is a program. The answer counts only for the address that wrote.
func (s *session) lookUp(ctx context.Context, who ircmsg.NUH) (account string, bot bool) {
	is, err := s.whois(ctx, who.Name)
	if err != nil || is.user != who.User || is.host != who.Host {
		return "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	nick := s.fold(who.Name)
	s.login(nick, is.account)
	if p := s.people[nick]; p != nil {
		p.bot = is.bot
	}
	return is.account, is.bot
}

// whois is what a server says about a nick.
type whois struct {
	user, host, account string
	bot                 bool
}

func (s *session) whois(ctx context.Context, nick string) (is whois, err error) {
	name := s.folded(nick)
	line := ircmsg.MakeMessage(nil, "", "WHOIS", nick)
	err = s.exchange(ctx, []ircmsg.Message{line}, func(m ircmsg.Message) {
		if len(m.Params) < 3 || s.fold(m.Params[1]) != name {
			return
		}
		switch {
		case m.Command == "311" && len(m.Params) > 3: // RPL_WHOISUSER
			is.user, is.host = m.Params[2], m.Params[3]
		case m.Command == "330": // RPL_WHOISACCOUNT
			is.account = m.Params[2]
		case m.Command == "335": // RPL_WHOISBOT
			is.bot = true
		}
	})
	return is, err
}

// botMode is the mode by which programs know one another; empty if there is none.
func (s *session) botMode() string {
	mode := s.support["BOT"] // ircv3.net, Bot Mode, 2026
	if mode == "" && s.support["IRCD"] == "ngIRCd" {
		return "B" // it does not say so
	}
	if len(mode) != 1 || mode[0] <= ' ' {
		return ""
	}
	return mode
}

func (s *session) folded(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fold(name)
}

// fold makes names that the server takes for the same equal. Names that it may take for
// different ones stay different.
func (s *session) fold(name string) string {
	more := map[string]string{"rfc1459": "[]\\~", "rfc1459-strict": "[]\\",
		"strict-rfc1459": "[]\\"}[s.support["CASEMAPPING"]]
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		if at := strings.IndexRune(more, r); at >= 0 {
			return rune("{}|^"[at])
		}
		return r
	}, strings.ToValidUTF8(name, "\uFFFD"))
}

// isRoom reports whether a target is a channel.
func (s *session) isRoom(target string) bool {
	types, ok := s.support["CHANTYPES"]
	if !ok {
		types = "#&"
	}
	return target != "" && strings.ContainsAny(target[:1], types)
}

// validRoom and validNick report whether a name can be one target of a message, and
// nothing else: no list, pattern or option.
func validRoom(name string) bool {
	return len(name) <= 100 && !strings.ContainsAny(name, " ,\a") && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, unicode.IsControl)
}

func validNick(name string) bool {
	return name != "" && len(name) <= 64 && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return !inNick(r) })
}

func inNick(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_[]{}\\|^`", r)
	}
	return unicode.IsGraphic(r) && !unicode.IsSpace(r)
}

func beginsWithNick(text string) bool {
	r, n := utf8.DecodeRuneInString(text)
	return n > 0 && partOfNick(r)
}

func endsWithNick(text string) bool {
	r, n := utf8.DecodeLastRuneInString(text)
	return n > 0 && partOfNick(r)
}

// partOfNick is narrower than inNick: in Chinese a name stands between other characters
// without blanks.
func partOfNick(r rune) bool { return r < utf8.RuneSelf && inNick(r) }

// errName says why nothing can be sent to a chat.
func errName(chat string) error { return fmt.Errorf("%q is no room, account or nick on IRC", chat) }
