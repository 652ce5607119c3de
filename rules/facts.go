package rules

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/cel"

	"github.com/etui-run/etui/chat"
)

// fact is a variable that conditions may read.
type fact uint8

const (
	userID fact = iota
	userRoles
	userGroups
	platformRoles
	channel
	chatID
	agent
	session
	skill
	moment
	attrs
	// The others are about a call.
	arguments
	commandPrograms
	commandRisks
	factCount
)

var factNames = [factCount]string{"user.id", "user.roles", "user.groups", "platform.roles", "channel", "chat", "agent",
	"session", "skill", "time", "attrs", "args", "command.programs", "command.risks"}

func (f fact) String() string { return factNames[f] }

func (f fact) kind() *cel.Type {
	switch f {
	case userRoles, userGroups, platformRoles, commandPrograms, commandRisks:
		return cel.ListType(cel.StringType)
	case arguments:
		return cel.MapType(cel.StringType, cel.DynType)
	case moment:
		return cel.TimestampType
	case attrs:
		return cel.MapType(cel.StringType, cel.StringType)
	default:
		return cel.StringType
	}
}

// ofCall reports whether a fact is about a call, not about a caller.
func (f fact) ofCall() bool { return f >= arguments }

// allFacts lists the facts about callers, then those about calls.
func allFacts() []fact {
	list := make([]fact, factCount)
	for i := range list {
		list[i] = fact(i)
	}
	return list
}

func factNamed(name string) (fact, bool) {
	i := slices.Index(factNames[:], name)
	return fact(max(i, 0)), i >= 0
}

// caller provides the facts to a condition. Without a call, call is nil.
type caller struct {
	*chat.Facts
	call *call
}

// ResolveName returns a fact by its name. A time or arguments that are unknown do not
// exist.
func (c caller) ResolveName(name string) (any, bool) {
	f, ok := factNamed(name)
	if !ok || f.ofCall() && c.call == nil {
		return nil, false
	}
	switch f {
	case userRoles, userGroups, platformRoles:
		return c.list(f), true
	case moment:
		return c.Time.Truncate(time.Second), !c.Time.IsZero()
	case attrs:
		return c.Attrs, true
	case arguments:
		return c.call.args, true
	case commandPrograms:
		return c.call.command().Programs, true
	case commandRisks:
		return c.call.command().Risks, true
	default:
		return c.text(f), true
	}
}

// Parent is nil: there are no other facts.
func (caller) Parent() cel.Activation { return nil }

// list returns a fact that is a list of texts.
func (c caller) list(f fact) []string {
	switch f {
	case userRoles:
		return c.Roles
	case userGroups:
		return c.Groups
	default:
		return c.PlatformRoles
	}
}

func (c caller) text(f fact) string {
	return [factCount]string{userID: c.User, channel: c.Channel, chatID: c.Chat, agent: c.Agent, session: c.Session,
		skill: c.Skill}[f]
}

// factSet is the facts that conditions read. Callers with the same values for them get
// the same outcomes.
type factSet struct {
	has [factCount]bool
	// attrs are the attributes that are read, sorted, unless has[attrs] says that all
	// are.
	attrs []string
}

// ofCall reports whether it includes facts about calls.
func (s factSet) ofCall() bool {
	return s.has[arguments] || s.has[commandPrograms] || s.has[commandRisks]
}

func (s factSet) union(o factSet) factSet {
	for f, has := range o.has {
		s.has[f] = s.has[f] || has
	}
	s.attrs = append(slices.Clone(s.attrs), o.attrs...)
	slices.Sort(s.attrs)
	s.attrs = slices.Compact(s.attrs)
	return s
}

// names returns the facts about a caller in the set, as conditions write them.
func (s factSet) names() (list []string) {
	for _, f := range allFacts() {
		if s.has[f] && !f.ofCall() {
			list = append(list, f.String())
		}
	}
	for _, name := range s.attrs {
		list = append(list, attrs.String()+"."+name)
	}
	return list
}

// name is equal for equal sets.
func (s factSet) name() string { return fmt.Sprintf("%v %q", s.has, strings.Join(s.attrs, "\x00")) }

const (
	// keyRoom is how many bytes of a key need no allocation.
	keyRoom = 256
	// maxKey is how long a key may be in the caches.
	maxKey = 1 << 10
)

// key appends the values of the facts, so that different values have different
// keys.
func (s factSet) key(b []byte, f *chat.Facts) []byte {
	c := caller{Facts: f}
	for i, has := range s.has {
		if !has {
			continue
		}
		switch which := fact(i); which {
		case userRoles, userGroups, platformRoles:
			list := c.list(which)
			b = binary.AppendUvarint(b, uint64(len(list)))
			for _, text := range list {
				b = appendText(b, text)
			}
		case moment:
			b = binary.BigEndian.AppendUint64(b, uint64(c.Time.Unix()))
		case attrs:
			b = binary.AppendUvarint(b, uint64(len(c.Attrs)))
			for _, name := range slices.Sorted(maps.Keys(c.Attrs)) {
				b = appendText(appendText(b, name), c.Attrs[name])
			}
		default:
			b = appendText(b, c.text(which))
		}
	}
	for _, name := range s.attrs {
		value, ok := c.Attrs[name]
		if !ok {
			b = append(b, 0)
			continue
		}
		b = appendText(append(b, 1), value)
	}
	return b
}

// size returns how many bytes the values of the facts have together.
func (s factSet) size(f *chat.Facts) (n int) {
	c := caller{Facts: f}
	for i, has := range s.has {
		switch which := fact(i); {
		case !has || which == moment || which.ofCall():
		case which == userRoles || which == userGroups || which == platformRoles:
			for _, text := range c.list(which) {
				n += len(text)
			}
		case which == attrs:
			for name, value := range c.Attrs {
				n += len(name) + len(value)
			}
		default:
			n += len(c.text(which))
		}
	}
	for _, name := range s.attrs {
		n += len(c.Attrs[name])
	}
	return n
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}
