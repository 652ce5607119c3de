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
	all     []tool.Definition
	shown   []tool.Definition // to the model
	later   []tool.Definition // for the provider to defer
	known   map[string]bool
	size    int
	aliases map[string]string // of etui's tools, by their own names
	own     map[string]string // the reverse
}

// NewDesk returns the desk for an offer. Taken reports the names that tools of etui have.
func NewDesk(o Offer, taken func(name string) bool) Desk {
	d := Desk{Offer: o, known: make(map[string]bool, len(o.Tools)), aliases: map[string]string{},
		own: map[string]string{}}
	if o.None {
		return d
	}
	d.all = make([]tool.Definition, 0, len(o.Tools))
	for _, t := range o.Tools {
		d.known[t.Name] = true
		d.size += t.size()
		d.all = append(d.all, t.definition())
	}
	d.shown = d.all
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

// All returns the client's tools, and Tools those that the model reads. Deferred are for the provider to
// load when the model finds them.
func (d *Desk) All() []tool.Definition { return d.all }

// Tools returns the tools that the model reads.
func (d *Desk) Tools() []tool.Definition { return d.shown }

// Deferred returns the tools that the provider has and the model does not read.
func (d *Desk) Deferred() []tool.Definition { return d.later }

// Size returns how many bytes the tools have that the model reads.
func (d *Desk) Size() int { return d.size }

// Show shows the model, of the tools that hides reports, those of the names alone, in their order. The one
// that must be called is never hidden.
func (d *Desk) Show(names, deferred []string, hides func(name string) bool) {
	by := make(map[string]tool.Definition, len(d.all))
	d.shown, d.later, d.size = nil, nil, 0
	for _, t := range d.all {
		by[t.Name] = t
		if !hides(t.Name) {
			d.shown = append(d.shown, t)
		}
	}
	if d.Only != "" && hides(d.Only) && !slices.Contains(names, d.Only) {
		names = append(slices.Clip(names), d.Only)
	}
	for _, name := range names {
		if t, ok := by[name]; ok && hides(name) {
			d.shown = append(d.shown, t)
		}
	}
	for _, name := range deferred {
		if name != d.Only {
			d.later = append(d.later, by[name])
		}
	}
	for _, t := range d.shown {
		d.size += len(t.Name) + len(t.Description) + len(t.Parameters) + perTool
	}
}

// Has reports whether a name is that of a tool of the client.
func (d *Desk) Has(name string) bool { return d.known[name] }

// ToModel returns a tool of etui as the model reads it.
func (d *Desk) ToModel(own tool.Definition) tool.Definition {
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

// FromModel returns a call as the model made it with the tool that it means: one of the client, or one
// of etui by its own name.
func (d *Desk) FromModel(c chat.Call) chat.Call {
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
