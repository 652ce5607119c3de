package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/etui-run/etui/chat"
)

// maxText is the approximate maximum length of an answer, in bytes.
const maxText = 1400

// get answers with the record that the call names.
func (c *call) get() (reply, error) {
	k, r, err := c.named(false)
	if err != nil {
		return reply{}, err
	}
	return single(k.One+" "+r.id, r), nil
}

// create creates a record from the arguments. Kinds with numbered records number it;
// for others, the first required argument is its name.
func (c *call) create() (reply, error) {
	name := c.tool.object
	k := c.world.Kinds[name]
	r := record{kind: name, columns: k.Columns, fields: map[string]string{}, seed: c.seed()}
	for column, value := range k.New {
		r.set(column, moment(value, c.now))
	}
	prefix, number := numbering(c.world.rows(name, c.now))
	naming := ""
	if prefix == "" {
		naming = c.subject()
		if c.args[k.Columns[0]] != "" {
			naming = k.Columns[0]
		}
		r.id = clip(c.args[naming], 200)
		r.set(k.Columns[0], r.id)
	}
	for _, arg := range slices.Sorted(maps.Keys(c.args)) {
		if arg == naming || arg == "currency" {
			continue
		}
		column := columnOf(k, arg)
		if column == "" || column == k.Columns[0] {
			column = arg
		}
		r.set(column, c.written(arg))
	}
	r = c.world.add(r, prefix, number+100+c.seed().n(800))
	return single("Created "+k.One+" "+r.id, r), nil
}

// written formats an argument for a record: moments in one format, money with its
// currency, long text shortened.
func (c *call) written(arg string) string {
	value := clip(c.args[arg], 4000)
	if c.tool.properties[arg].Format == "date-time" {
		if t, ok := readDate(value, c.now); ok {
			return t.Format(minutely)
		}
	}
	switch arg {
	case "amount", "price", "budget", "cost":
		return money(strconv.FormatFloat(number(value), 'f', 2, 64)) + " " + c.fill("{currency=EUR}")
	}
	return value
}

// numbering returns how the records of a kind are numbered; without a prefix they have
// names.
func numbering(rows []record) (prefix string, number int) {
	if len(rows) == 0 {
		return "", 0
	}
	prefix = strings.TrimRight(rows[0].id, "0123456789")
	if prefix == rows[0].id || !strings.HasSuffix(prefix, "-") && !strings.HasSuffix(prefix, "#") {
		return "", 0
	}
	_, _ = fmt.Sscanf(rows[0].id[len(prefix):], "%d", &number)
	return prefix, number
}

// update changes the named record: to the status that the tool sets, or to the other
// arguments.
func (c *call) update() (reply, error) {
	k, r, err := c.named(false)
	if err != nil {
		return reply{}, err
	}
	_, status, _ := strings.Cut(c.tool.object, " ")
	for _, arg := range slices.Sorted(maps.Keys(c.args)) {
		column := columnOf(k, arg)
		switch {
		case arg == c.subject() || column == k.Columns[0]:
			continue
		case column == "":
			column = arg
		case status != "":
			continue
		}
		value := c.written(arg)
		r.set(column, value)
		c.world.change(r, column, value)
	}
	if status != "" {
		column := cmp.Or(k.firstOf([]string{"status", "state", "stage"}), "status")
		r.set(column, status)
		c.world.change(r, column, status)
		return single(strings.ToUpper(k.One[:1])+k.One[1:]+" "+r.id+" is now "+status, r), nil
	}
	return single("Updated "+k.One+" "+r.id, r), nil
}

// delete removes the named record; repeating it is not an error.
func (c *call) delete() (reply, error) {
	k, r, err := c.named(true)
	if err != nil {
		return reply{}, err
	}
	c.world.remove(r)
	return single("Deleted "+k.One+" "+r.id, r), nil
}

// named returns the record that the call names.
func (c *call) named(gone bool) (*kind, record, error) {
	name, _, _ := strings.Cut(c.tool.object, " ")
	k := c.world.Kinds[name]
	all := c.world.records(name, c.now, gone)
	value := c.args[c.subject()]
	r, ok := find(all, value)
	if !ok {
		return nil, record{}, unknown(k.One, value, names(all))
	}
	return k, r, nil
}

// single formats one record, one field per line.
func single(head string, r record) reply {
	var b strings.Builder
	b.WriteString(head)
	for _, column := range r.columns[1:] {
		if value := r.fields[column]; value != "" && b.Len() < maxText {
			fmt.Fprintf(&b, "\n%s: %s", strings.ReplaceAll(column, "_", " "), clip(value, 600))
		}
	}
	data, _ := json.Marshal(r.fields) // strings only
	return reply{Text: b.String(), Data: data}
}

// table formats records one per line, in columns; a single record with all its fields.
func table(k *kind, all []record, said []string, limit int) reply {
	head := fmt.Sprintf("%d %s", len(all), plural(k.One, len(all)))
	if len(said) > 0 {
		head += " (" + clip(strings.Join(said, ", "), 120) + ")"
	}
	if len(all) == 1 {
		return single(head+"\n"+k.Columns[0]+": "+all[0].id, all[0])
	}
	columns := slices.DeleteFunc(slices.Clone(k.Columns), func(c string) bool { return c == "text" && len(k.Columns) > 4 })
	shown := all[:min(len(all), limit)]
	width := make([]int, len(columns))
	for i, column := range columns {
		width[i] = cells(column)
		for _, r := range shown {
			width[i] = max(width[i], cells(clip(r.fields[column], 40)))
		}
	}
	var b strings.Builder
	b.WriteString(head)
	line := func(cell func(column string) string) {
		var l strings.Builder
		for i, column := range columns {
			text := cell(column)
			l.WriteString(text + strings.Repeat(" ", width[i]-cells(text)+2))
		}
		b.WriteString("\n" + strings.TrimRight(l.String(), " "))
	}
	line(func(column string) string { return strings.ReplaceAll(column, "_", " ") })
	lines := 0
	for _, r := range shown {
		if b.Len() > maxText {
			break
		}
		line(func(column string) string { return clip(r.fields[column], 40) })
		lines++
	}
	if rest := len(all) - lines; rest > 0 {
		fmt.Fprintf(&b, "\n… and %d more", rest)
	}
	rows := make([]map[string]string, len(all))
	for i, r := range all {
		rows[i] = r.fields
	}
	data, _ := json.Marshal(rows) // strings only
	return reply{Text: b.String(), Data: data}
}

// cells is the width of text in a terminal.
func cells(text string) int {
	n := 0
	for _, r := range text {
		n++
		if chat.Wide(r) {
			n++
		}
	}
	return n
}

// clip shortens text to a number of characters.
func clip(text string, length int) string {
	if utf8.RuneCountInString(text) <= length {
		return text
	}
	return string([]rune(text)[:length-1]) + "…"
}

func plural(one string, n int) string {
	switch {
	case n == 1:
		return one
	case strings.HasSuffix(one, "y") && !strings.HasSuffix(one, "ay") && !strings.HasSuffix(one, "ey"):
		return one[:len(one)-1] + "ies"
	case strings.HasSuffix(one, "s"), strings.HasSuffix(one, "sh"), strings.HasSuffix(one, "ch"), strings.HasSuffix(one, "x"):
		return one + "es"
	}
	return one + "s"
}
