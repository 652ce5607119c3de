package http

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/etui-run/etui/skill"
)

// defaultPages is how many pages a call fetches at most, where the file does not say.
const defaultPages = 10

// list is what a call of a skill with pages gives.
type list struct {
	Items []json.RawMessage `json:"items"`
	Pages int               `json:"pages"`
	// More says that there are further pages, and why they were not fetched.
	More string `json:"more,omitempty"`
}

// pages fetches a list page by page, until it ends or a limit is reached. A page that cannot be
// fetched after others ends the list, which says so.
func (r *remote) pages(ctx context.Context, p *parts, key string) (any, error) {
	all, size := list{Items: []json.RawMessage{}}, 0
	at := *p
	for seen := map[string]bool{}; ; {
		if seen[at.url.String()] {
			all.More = "the service names a page again that was fetched already"
			break
		}
		seen[at.url.String()] = true
		a, err := r.send(ctx, &at, key)
		switch {
		case err != nil && all.Pages > 0 && ctx.Err() == nil:
			all.More = err.Error()
			return all.answer()
		case err != nil:
			return nil, err
		}
		items, err := r.items(a.value)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			size += len(item) + 1
		}
		if size > skill.MaxResult-1024 {
			if all.Pages == 0 {
				return nil, fmt.Errorf(
					"%w: the list is longer than %d bytes",
					skill.ErrExecutionFailed,
					skill.MaxResult,
				)
			}
			all.More = "the list is too long for one answer; ask for less"
			break
		}
		all.Items, all.Pages = append(all.Items, items...), all.Pages+1
		next, err := r.next(at.url, a, len(items))
		if err != nil {
			return nil, err
		}
		if next == nil {
			break
		}
		if all.Pages >= cmp.Or(r.paging.MaxPages, defaultPages) {
			all.More = fmt.Sprintf("only the first %d pages were fetched", all.Pages)
			break
		}
		at.url = next
	}
	return all.answer()
}

func (l list) answer() (any, error) {
	raw, err := json.Marshal(l)
	return json.RawMessage(raw), err
}

// items returns the list of a page.
func (r *remote) items(value any) (items []json.RawMessage, err error) {
	raw, ok := value.(json.RawMessage)
	if ok {
		raw, ok = lookUp(raw, r.paging.Items)
	}
	if !ok || json.Unmarshal(raw, &items) != nil {
		return nil, fmt.Errorf(
			"%w: the answer has no list at %s, where paging.items says that it is",
			skill.ErrExecutionFailed,
			cmp.Or(r.paging.Items, "its top"),
		)
	}
	return items, nil
}

// lookUp finds a place such as data.items in an answer.
func lookUp(raw json.RawMessage, place string) (json.RawMessage, bool) {
	if place == "" {
		return raw, true
	}
	for name := range strings.SplitSeq(place, ".") {
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil {
			return nil, false
		}
		var ok bool
		if raw, ok = object[name]; !ok {
			return nil, false
		}
	}
	return raw, true
}

// next returns the address of the page after one with so many items; nil after the last.
func (r *remote) next(at *url.URL, a *answer, items int) (*url.URL, error) {
	if r.paging.Next == "" {
		if items == 0 {
			return nil, nil
		}
		query := at.Query()
		now, err := strconv.Atoi(query.Get(r.paging.Query))
		step := items
		if r.paging.Count != "items" {
			step = 1
			if err != nil {
				now = 1
			}
		}
		return with(at, r.paging.Query, strconv.Itoa(now+step)), nil
	}
	said := ""
	if r.paging.Next == "link" {
		said = nextLink(a.header)
	} else if raw, ok := a.value.(json.RawMessage); ok {
		if raw, ok := lookUp(raw, r.paging.Next); ok && string(raw) != "null" && string(raw) != "false" {
			said, _ = scalar(raw, "")
		}
	}
	if said == "" {
		return nil, nil
	}
	if r.paging.Query != "" && !strings.Contains(said, "://") {
		return with(at, r.paging.Query, said), nil
	}
	u, err := at.Parse(said)
	if err != nil || u.Scheme != at.Scheme || u.Host != at.Host || u.User != nil {
		return nil, fmt.Errorf(
			"%w: the service at %s names a next page at another address, where its headers must not go",
			skill.ErrExecutionFailed,
			at.Host,
		)
	}
	// The query of the file, such as a key, is not in the links of every service.
	query := u.Query()
	for name, values := range r.shape.fixed {
		if !query.Has(name) {
			query[name] = values
		}
	}
	u.RawQuery, u.Fragment = query.Encode(), ""
	return u, nil
}

// with returns an address with another value of a query parameter.
func with(at *url.URL, name, value string) *url.URL {
	u, query := *at, at.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return &u
}

var linkNext = regexp.MustCompile(`<([^<>]*)>[^<,]*;\s*rel="?(?:[^"<,]* )?next\b`)

// nextLink returns the target of the relation next in the header Link.
func nextLink(header http.Header) string {
	for _, line := range header.Values("Link") {
		if found := linkNext.FindStringSubmatch(line); found != nil {
			return found[1]
		}
	}
	return ""
}
