package demo

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// convert converts an amount of money into another currency.
func (c *call) convert() (reply, error) {
	x, err := strconv.ParseFloat(c.args["amount"], 64)
	if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
		return reply{}, refuse(http.StatusBadRequest, "amount: %q is not a number", c.args["amount"])
	}
	from, to := c.args["from"], c.args["to"]
	rate := c.world.Rates[to] / c.world.Rates[from]
	return c.say(fmt.Sprintf("%s %s = %s %s (rate %.4f of %s)",
		money(strconv.FormatFloat(x, 'f', 2, 64)), from, money(strconv.FormatFloat(x*rate, 'f', 2, 64)), to, rate, c.now.Format(time.DateOnly))), nil
}

// timezone compares the clocks of two cities, in standard time.
func (c *call) timezone() (reply, error) {
	var hours [2]float64
	for i, arg := range []string{"from", "to"} {
		h, ok := c.world.Hours[fold(c.args[arg])]
		if !ok {
			return reply{}, unknown("city", c.args[arg], slices.Sorted(maps.Keys(c.world.Hours)))
		}
		hours[i] = h
	}
	there := c.now.UTC().Add(time.Duration(hours[1] * float64(time.Hour)))
	word := "ahead of"
	diff := hours[1] - hours[0]
	if diff < 0 {
		word, diff = "behind", -diff
	}
	return c.say(fmt.Sprintf("%s is %g hours %s %s (standard time); it is %s there.",
		c.args["to"], diff, word, c.args["from"], there.Format("Mon 15:04"))), nil
}

// slots finds times at which everybody is free: what the calendar leaves of the
// working day. A person's own calendar is derived from the name and the day.
func (c *call) slots() (reply, error) {
	day := workday(c.now, 1)
	if d, ok := readDate(c.args["date"], c.now); ok {
		day = d
	}
	length := time.Hour
	if d, err := time.ParseDuration(c.args["duration"]); err == nil && d > 0 {
		length = min(d, 8*time.Hour)
	}
	var busy [18]bool // half hours from 9:00 to 18:00
	for person := range strings.SplitSeq(c.args["attendees"], ", ") {
		for i := range 3 {
			s := seedOf(fold(person), day.Format(time.DateOnly)).next(i)
			at := s.n(len(busy) - 1)
			busy[at], busy[at+1] = true, true
		}
	}
	var free []string
	for i := 0; i < len(busy); {
		end := i
		for end < len(busy) && !busy[end] {
			end++
		}
		if time.Duration(end-i)*30*time.Minute >= length {
			free = append(free, clock(i)+"-"+clock(end))
		}
		i = end + 1
	}
	if len(free) == 0 {
		return c.say(fmt.Sprintf("%s have no %s in common on %s; try another day.", c.args["attendees"], length, day.Format("Mon 2006-01-02"))), nil
	}
	return c.say(fmt.Sprintf("%s are free on %s: %s", c.args["attendees"], day.Format("Mon 2006-01-02"), strings.Join(free, ", "))), nil
}

// clock formats the n-th half hour after nine.
func clock(n int) string { return fmt.Sprintf("%02d:%02d", 9+n/2, n%2*30) }
