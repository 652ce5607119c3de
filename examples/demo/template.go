package demo

import (
	"fmt"
	"strconv"
	"strings"
)

// fill expands a template with the call's arguments and drawn figures:
//
//	{city}  {city=Berlin}     an argument, with a default
//	{#3-14}  {#0.5-2.5}       a drawn number
//	{$900-4000}               a drawn number with commas: 1,240
//	{?open/closed}            one of several
//	{@+3}  {@+3 10:00}        a day from today, a time on it
//	{%7}                      a drawn hash of that many digits
//
// The same arguments draw the same figures.
func (c *call) fill(template string) string {
	var b strings.Builder
	s := c.seed()
	for n := 0; ; n++ {
		before, rest, ok := strings.Cut(template, "{")
		b.WriteString(before)
		field, after, closed := strings.Cut(rest, "}")
		if !ok || !closed {
			return b.String()
		}
		b.WriteString(c.field(field, s.next(n)))
		template = after
	}
}

func (c *call) field(field string, s seed) string {
	if field == "" {
		return ""
	}
	switch field[0] {
	case '#':
		return s.between(field[1:])
	case '$':
		return money(s.between(field[1:]))
	case '?':
		return s.pick(strings.Split(field[1:], "/"))
	case '@':
		return moment(field, c.now)
	case '%':
		length, _ := strconv.Atoi(field[1:])
		return s.hex(length)
	case '*':
		return c.product(field[1:])
	}
	name, fallback, _ := strings.Cut(field, "=")
	if value := c.args[name]; value != "" {
		return value
	}
	return fallback
}

// product multiplies arguments and numbers: "kilometers*0.30".
func (c *call) product(factors string) string {
	x := 1.0
	for f := range strings.SplitSeq(factors, "*") {
		if value, ok := c.args[f]; ok {
			f = value
		}
		x *= number(f)
	}
	return money(fmt.Sprintf("%.2f", x))
}
