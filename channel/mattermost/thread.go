package mattermost

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/printable"
)

// before returns what was said in a thread before a post that names the bot, and after what the agent
// has read there.
func (s *session) before(ctx context.Context, p post) (said []platform.Said) {
	var list struct{ Posts map[string]post }
	r := platform.Request{Path: platform.Route("api/v4/posts/{}/thread", p.Root), Limit: maxPage}
	oldest, _ := strconv.ParseInt(s.upTo.After(p.Root, strconv.FormatInt(p.Created, 10)), 10,
		64) // 0 if nothing was read
	if err := s.api.Call(ctx, r, &list); err != nil {
		s.log.WarnContext(ctx, "mattermost does not show a thread", "error", err)
		return nil
	}
	s.upTo.Note(p.Root, strconv.FormatInt(p.Created, 10))
	posts := make([]post, 0, len(list.Posts))
	for _, q := range list.Posts {
		later := q.Created > p.Created || q.ID == p.ID
		if !later && q.Deleted == 0 && (q.Type == "" || q.Type == "me") &&
			(oldest == 0 || q.Created > oldest && q.User != s.self.ID) {
			posts = append(posts, q)
		}
	}
	slices.SortFunc(posts, func(a,
		b post) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), strings.Compare(a.ID, b.ID))
	})
	if most := platform.MaxThread + 1; len(posts) > most { // each new name is a request
		posts = append(posts[:1:1], posts[len(posts)-most+1:]...)
	}
	for _, q := range posts {
		text := printable.Text(q.Message)
		for _, f := range q.Metadata.Files {
			text += " [file " + printable.Line(f.Name, 100) + "]"
		}
		who := channel.Sender{ID: q.User}
		if q.User == s.self.ID {
			who.Name = "you"
		} else {
			s.people.Introduce(ctx, &who, s.meet)
		}
		said = append(said, platform.Said{Name: cmp.Or(who.Name, who.Handle, q.User), Text: text})
	}
	return said
}
