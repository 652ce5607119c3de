package demo

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// list answers with the records of a kind that fit the arguments. An argument named
// like a column filters by it, the words of a query are searched everywhere, and dates
// are compared with a record's first date. An argument that the records do not know is
// repeated in the answer and filters nothing.
func (c *call) list() (reply, error) {
	name, fixed, _ := strings.Cut(c.tool.object, " ")
	k := c.world.Kinds[name]
	all := c.world.records(name, c.now, false)
	limit := 10
	var said []string
	if column, value, ok := strings.Cut(fixed, "?="); ok { // a default, which the caller can override
		if c.args[column] == "" {
			c.args[column] = strings.Replace(value, "me", c.world.Lists["person"][0], 1)
		}
	} else if column, value, ok := strings.Cut(fixed, "="); ok {
		all = keepIf(all, func(r record) bool { return r.fields[column] == value })
	}
	for _, arg := range slices.Sorted(maps.Keys(c.args)) {
		value := c.args[arg]
		switch arg {
		case "limit":
			if n, err := strconv.Atoi(value); err == nil && n > 0 {
				limit = min(n, 50)
			}
			continue
		case "end_date": // read with date
			continue
		}
		said = append(said, strings.ReplaceAll(arg, "_", " ")+" "+value)
		kept, hint := c.filter(k, all, arg, value)
		if len(kept) < 3 && k.Draw != nil && !strings.HasPrefix(arg, "max_") {
			kept = force(kept, all, columnOf(k, arg), value)
		}
		if len(kept) == 0 {
			return c.say(fmt.Sprintf("No %s found: %s.%s", k.One, strings.Join(said, ", "), hint)), nil
		}
		all = kept
	}
	return table(k, all, said, limit), nil
}

// filter keeps the records that fit one argument. The hint names values that would
// have matched.
func (c *call) filter(k *kind, all []record, arg, value string) (kept []record, hint string) {
	if keep, ok := c.span(k, arg, value); ok {
		return keepIf(all, keep), ""
	}
	if arg == "query" || arg == "keyword" || arg == "question" || arg == "topic" {
		return search(all, value), " There is: " + strings.Join(names(all[:min(len(all), 8)]), ", ") + "."
	}
	column := columnOf(k, arg)
	if arg == "people" && column != "" { // the required capacity
		return keepIf(all, func(r record) bool { return number(r.fields[column]) >= number(value) }), ""
	}
	if bound, isMax := strings.CutPrefix(arg, "max_"); isMax {
		column = columnOf(k, bound)
		return keepIf(all, func(r record) bool { return number(r.fields[column]) <= number(value) }), ""
	}
	if column != "" {
		if kept = keepIf(all, func(r record) bool { return fits(r.fields[column], value) }); len(kept) == 0 && k.Draw == nil {
			kept = mentioning(all, value)
		}
		return kept, " There is: " + strings.Join(distinct(all, column), ", ") + "."
	}
	if kept = mentioning(all, value); len(kept) > 0 {
		return kept, ""
	}
	return all, ""
}

// mentioning keeps the records that contain a word, or the value of "name=value", in
// any field. It ignores numbers, which are too unspecific.
func mentioning(all []record, value string) []record {
	_, after, _ := strings.Cut(value, "=")
	word := fold(after)
	if word == "" {
		word = fold(value)
	}
	if len(word) < 3 || strings.Trim(word, "0123456789.: ") == "" {
		return nil
	}
	return keepIf(all, func(r record) bool { return r.mentions(word) })
}

// span handles the arguments about time.
func (c *call) span(k *kind, arg, value string) (keep func(record) bool, ok bool) {
	column := k.firstOf(dateColumns)
	if column == "" {
		return nil, false
	}
	var from, to time.Time
	switch arg {
	case "date", "month":
		from, ok = readDate(value, c.now)
		to = from.AddDate(0, 0, 1)
		if arg == "month" {
			from = from.AddDate(0, 0, 1-from.Day())
			to = from.AddDate(0, 1, 0)
		} else if end, ok := readDate(c.args["end_date"], c.now); ok {
			to = end.AddDate(0, 0, 1)
		}
	case "since":
		from, ok = readSince(value, c.now)
		to = c.now.AddDate(100, 0, 0)
	case "days":
		days, err := strconv.Atoi(value)
		to, ok = c.now.AddDate(0, 0, days), err == nil
	case "expiring_before":
		to, ok = readDate(value, c.now)
	}
	if !ok {
		return nil, false
	}
	first, last, end := from.Format(minutely), to.Format(minutely), k.firstOf(endColumns)
	return func(r record) bool {
		begins := r.fields[column]
		ends := begins
		if r.fields[end] != "" {
			ends = r.fields[end]
		}
		return ends >= cut(first, ends) && begins < cut(last, begins)
	}, true
}

// cut truncates a moment to the precision of another one: minute, day or month.
func cut(moment, like string) string { return moment[:min(len(moment), len(like))] }

// The columns that date the records of a kind, and that say until when a record lasts.
var (
	dateColumns = []string{"date", "start", "time", "began", "due_date", "expires", "changed", "created", "from", "month"}
	endColumns  = []string{"end", "until"}
)

// firstOf returns the first column of a kind that is one of those; empty if none is.
func (k *kind) firstOf(columns []string) string {
	if i := slices.IndexFunc(k.Columns, func(c string) bool { return slices.Contains(columns, c) }); i >= 0 {
		return k.Columns[i]
	}
	return ""
}

// search keeps the records that contain the most words of the query.
func search(all []record, query string) []record {
	words := strings.FieldsFunc(fold(query), func(r rune) bool { return strings.ContainsRune(" \t,;.?!\"'，。？！、", r) })
	return most(all, func(r record) (hits int) {
		for _, word := range words {
			if r.mentions(word) || len(word) > 4 && r.mentions(strings.TrimSuffix(word, "s")) {
				hits++
			}
		}
		return hits
	})
}

// most keeps the items with the most hits, if there are any.
func most[T any](all []T, hits func(T) int) (kept []T) {
	best := 1
	for _, item := range all {
		n := hits(item)
		if n > best {
			best, kept = n, nil
		}
		if n == best {
			kept = append(kept, item)
		}
	}
	return kept
}

// force makes up to four records fit, for kinds whose fields are drawn anyway. It does
// not touch records that calls have created.
func force(kept, all []record, column, value string) []record {
	if column == "" && len(kept) > 0 {
		return kept
	}
	for _, r := range all {
		drawn := r.seed == 0 && !slices.ContainsFunc(kept, func(k record) bool { return k.id == r.id })
		if !drawn || len(kept) >= 4 {
			continue
		}
		if column != "" && column != r.columns[0] {
			r.set(column, value)
		} else if column != "" {
			continue
		}
		kept = append(kept, r)
	}
	return kept
}

// columnOf returns the column that an argument is named after.
func columnOf(k *kind, arg string) string {
	for _, column := range k.Columns {
		if fold(column) == fold(arg) || fold(column)+" id" == fold(arg) {
			return column
		}
	}
	if k.Columns[0] == arg || k.One == strings.ReplaceAll(arg, "_", " ") {
		return k.Columns[0]
	}
	return ""
}

// fits compares loosely: any of several values, ignoring case, or a part of it.
func fits(have, want string) bool {
	for one := range strings.SplitSeq(want, ", ") {
		if h, w := fold(have), fold(one); h == w || len(w) > 2 && strings.Contains(h, w) {
			return true
		}
	}
	return false
}

func keepIf(all []record, keep func(record) bool) []record {
	return slices.DeleteFunc(slices.Clone(all), func(r record) bool { return !keep(r) })
}

func distinct(all []record, column string) []string {
	var values []string
	for _, r := range all {
		if v := r.fields[column]; v != "" && !slices.Contains(values, v) && len(values) < 8 {
			values = append(values, v)
		}
	}
	return values
}

// number parses the figure at the beginning of a text such as "4,800.00 EUR".
func number(text string) float64 {
	text = strings.ReplaceAll(text, ",", "")
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != '-' })
	if end >= 0 {
		text = text[:end]
	}
	n, _ := strconv.ParseFloat(text, 64)
	return n
}
