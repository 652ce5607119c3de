package clienttool

import (
	"fmt"
	"slices"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

// Desk tells the tools of a client from those of etui in the requests of a turn. Where both have a
// name, it is the client's, and etui's tool gets another one for the model. The zero Desk has no
// tools of a client and changes nothing.
type Desk struct {
	Offer
	tools   []tool.Definition
	known   map[string]bool
	size    int
	aliases map[string]string // of etui's tools, by their own names
	own     map[string]string // the reverse
}

// NewDesk returns the desk for an offer. Taken reports the names that tools of etui have.
func NewDesk(o Offer, taken func(name string) bool) Desk {
	d := Desk{Offer: o, known: make(map[string]bool, len(o.Tools)), aliases: map[string]string{}, own: map[string]string{}}
	if o.None {
		return d
	}
	d.tools = make([]tool.Definition, 0, len(o.Tools))
	for _, t := range o.Tools {
		d.known[t.Name] = true
		d.size += t.size()
		d.tools = append(d.tools, t.definition())
	}
	for _, t := range o.Tools {
		if !taken(t.Name) {
			continue
		}
		alias := "etui_" + t.Name
		for n := 2; d.known[alias] || taken(alias); n++ {
			alias = fmt.Sprintf("etui_%s_%d", t.Name, n)
		}
		d.aliases[t.Name], d.own[alias] = alias, t.Name
	}
	return d
}

// Tools returns the client's tools as the model reads them, and Size how many bytes they have.
func (d *Desk) Tools() []tool.Definition { return d.tools }

// Size returns how many bytes the client's tools have.
func (d *Desk) Size() int { return d.size }

// Has reports whether a name is that of a tool of the client.
func (d *Desk) Has(name string) bool { return d.known[name] }

// Shown returns a tool of etui as the model reads it.
func (d *Desk) Shown(own tool.Definition) tool.Definition {
	if alias, ok := d.aliases[own.Name]; ok {
		own.Description = fmt.Sprintf("(Other texts call this tool %s.) %s", own.Name, own.Description)
		own.Name = alias
	}
	return own
}

// Name returns the name of a tool of etui for the model.
func (d *Desk) Name(own string) string {
	if alias, ok := d.aliases[own]; ok {
		return alias
	}
	return own
}

// Called returns a call as the model made it with the tool that it means: one of the client, or one
// of etui by its own name.
func (d *Desk) Called(c chat.Call) chat.Call {
	if own, ok := d.own[c.Name]; ok {
		c.Name = own
	} else {
		c.Client = d.known[c.Name]
	}
	return c
}

// Messages returns a conversation with the names that the model knows.
func (d *Desk) Messages(list []chat.Message) []chat.Message {
	if len(d.aliases) == 0 {
		return list
	}
	list = slices.Clone(list)
	for i, m := range list {
		list[i].Calls = slices.Clone(m.Calls)
		for j, c := range m.Calls {
			if !c.Client {
				list[i].Calls[j].Name = d.Name(c.Name)
			}
		}
		if m.Result != nil && len(m.Result.Tools) > 0 {
			r := *m.Result
			r.Tools = slices.Clone(r.Tools)
			for j, name := range r.Tools {
				r.Tools[j] = d.Name(name)
			}
			list[i].Result = &r
		}
	}
	return list
}
