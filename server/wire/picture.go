package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/recent"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// The limits of pictures that clients name by an address: how many of a request are fetched, and how many bytes
// of fetched ones are kept. A client that sends the conversation names the same ones with each request.
const (
	maxFetched = 16
	maxKept    = 32 << 20
)

// maxFetching is how long fetching those of a request takes.
const maxFetching = time.Minute

// fetchTool is the tool that fetches them: its rules, approvals, addresses and audit hold.
const fetchTool = "web_fetch"

// Pictures are what clients name by an address. They are safe for concurrent use.
type Pictures struct {
	engine *engine.Engine
	kept   *recent.Cache[string, chat.File]
}

// NewPictures returns the pictures that an engine fetches.
func NewPictures(e *engine.Engine) *Pictures {
	return &Pictures{e, recent.NewSized[string](maxKept, func(f chat.File) int { return len(f.Data) })}
}

// Remote returns a picture that [Pictures.Fetch] is to fetch; false for another address than one of the web.
func Remote(url string) (chat.File, bool) {
	scheme, _, _ := strings.Cut(url, "://")
	scheme = strings.ToLower(scheme)
	return chat.File{Name: url}, scheme == "http" || scheme == "https"
}

// Picture returns the picture of a data: URL, or one that [Pictures.Fetch] is to fetch.
func Picture(url string) (chat.File, error) {
	if picture, remote := Remote(url); remote {
		return picture, nil
	}
	data, _, err := DataURL(url)
	return chat.File{Data: data}, err
}

// Check checks the files of a message as [message.Pictures] does. If one of them is still to be fetched,
// [Pictures.Fetch] checks them all.
func Check(files []chat.File) ([]chat.File, error) {
	if len(files) == 0 || slices.ContainsFunc(files, remote) {
		return files, nil
	}
	return message.Pictures(files)
}

func remote(f chat.File) bool {
	_, remote := Remote(f.Name)
	return remote && len(f.Data) == 0
}

// FetchError says why a picture is not fetched.
type FetchError struct{ says string }

func (e *FetchError) Error() string { return e.says + "; send the picture itself, as base64" }

// Unwrap returns [engine.ErrInvalid].
func (*FetchError) Unwrap() error { return engine.ErrInvalid }

// Fetch fetches the pictures that a message names, as a call of web_fetch by its sender.
func (p *Pictures) Fetch(ctx context.Context, m *engine.Message) error {
	ctx, cancel := context.WithTimeout(ctx, maxFetching)
	defer cancel()
	lists := []*[]chat.File{&m.Files}
	add := func(r *chat.Result) {
		if r != nil {
			lists = append(lists, &r.Images)
		}
	}
	for i := range m.History {
		lists = append(lists, &m.History[i].Files)
		add(m.History[i].Result)
	}
	for i := range m.Results {
		add(&m.Results[i])
	}
	count := 0
	for _, list := range lists {
		before := count
		for i, f := range *list {
			if !remote(f) {
				continue
			}
			if count++; count > maxFetched {
				return &FetchError{fmt.Sprintf("the request names more than %d pictures by their addresses",
					maxFetched)}
			}
			var err error
			if (*list)[i], err = p.fetch(ctx, *m, f.Name); err != nil {
				return err
			}
		}
		if count > before {
			var err error
			if *list, err = message.Pictures(*list); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Pictures) fetch(ctx context.Context, m engine.Message, url string) (chat.File, error) {
	key, _ := json.Marshal([]any{m.Agent, m.User, m.As, m.Channel, m.Chat, m.Roles, m.Client, url}) // texts
	if known, ok := p.kept.Get(string(key)); ok {
		return known, nil
	}
	m.Text, m.Files, m.Results, m.Answers = "", nil, nil, nil
	if m.History != nil {
		m.History = []chat.Message{}
	}
	args, _ := json.Marshal(map[string]string{"url": url}) // a text
	result, err := p.engine.Call(ctx, m, fetchTool, args)
	var question *tool.Question
	switch {
	case errors.Is(err, turn.ErrNoTool):
		return chat.File{}, &FetchError{"etui fetches no picture here, because there is no " + fetchTool}
	case errors.As(err, &question):
		return chat.File{}, &FetchError{"fetching a picture needs an approval here"}
	case err != nil && !result.Failed:
		return chat.File{}, err
	case result.Failed:
		return chat.File{}, &FetchError{"the picture cannot be fetched: " + result.Text}
	case len(result.Images) == 0:
		return chat.File{}, &FetchError{"there is no picture at the address, but a text"}
	}
	p.kept.Put(string(key), result.Images[0])
	return result.Images[0], nil
}
