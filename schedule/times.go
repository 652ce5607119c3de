package schedule

import (
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// plan is when a task runs again and again, by the clock on the wall of a time zone.
//
// Where the zone changes its clock, a plan keeps to RFC 5545: a time that the day does not have is
// read with the offset from before, so that 02:30 becomes 03:30, and of a time that comes twice the
// first one counts. So once a day is once a day. A task that runs every hour, or every few
// minutes, instead keeps its distance: it runs in both of two equal hours.
type plan struct {
	cron   cron.Schedule
	steady bool // it keeps its distance
}

// parsePlan reads a cron expression. Sunday is 0 or 7, names may be whole, and ranges of
// weekdays may go over Sunday: fri-mon.
func parsePlan(written string) (plan, error) {
	text, fields := written, strings.Fields(written)
	if len(fields) == 5 {
		fields[3], fields[4] = shortNames(fields[3], months), weekdays(shortNames(fields[4], days))
		text = strings.Join(fields, " ")
	}
	schedule, err := cron.ParseStandard(text)
	if err != nil {
		return plan{}, wrongField(strings.Fields(written), fields, err)
	}
	p := plan{cron: schedule}
	if s, ok := schedule.(*cron.SpecSchedule); ok {
		const everyHour = 1<<24 - 1
		stepped := len(fields) == 5 && strings.ContainsAny(fields[0], "*/") && bits.OnesCount64(s.Minute) > 1
		p.steady = stepped || s.Hour&everyHour == everyHour
	}
	return p, nil
}

// allowed are the fields of a cron expression, and what each may hold.
var allowed = [][2]string{
	{"minute", "0 to 59"}, {"hour", "0 to 23"}, {"day of the month", "1 to 31"}, {"month", "1 to 12, or jan to dec"},
	{"day of the week", "0 to 7, where 0 and 7 are Sunday, or sun to sat"},
}

// wrongField says which field of a cron expression is wrong, as it was written, and what it may hold.
func wrongField(written, fields []string, err error) error {
	switch {
	case len(written) > 0 && strings.HasPrefix(written[0], "@"):
		return fmt.Errorf("%w; it may be @hourly, @daily, @weekly, @monthly, @yearly or @every with a time, as in @every 2h", err)
	case len(fields) != len(allowed):
		return fmt.Errorf("it has %d fields, and a cron expression has five: minute, hour, day of the month, month, day of the week", len(fields))
	}
	for i, field := range fields {
		alone := slices.Repeat([]string{"*"}, len(allowed))
		alone[i] = field
		if _, wrong := cron.ParseStandard(strings.Join(alone, " ")); wrong != nil {
			return fmt.Errorf("the %s is %q; it may be %s, * for each, a list as in 1,3, a range as in 1-3, or a step as in */2",
				allowed[i][0], written[i], allowed[i][1])
		}
	}
	return err
}

const (
	days   = "sunday monday tuesday wednesday thursday friday saturday"
	months = "january february march april may june july august september october november december"
)

// shortNames cuts names to the three letters that the library knows.
func shortNames(field, names string) string {
	return regexp.MustCompile(`[A-Za-z]{3,}`).ReplaceAllStringFunc(field, func(word string) string {
		if strings.Contains(" "+names, " "+strings.ToLower(word)) {
			return word[:3]
		}
		return word
	})
}

// weekdays spells out the days of a field. It leaves to the library what is no day.
func weekdays(field string) string {
	items := strings.Split(field, ",")
	for i, item := range items {
		span, by, stepped := strings.Cut(item, "/")
		first, last, ranged := strings.Cut(span, "-")
		from, ok := weekday(first)
		to, step := from, 1
		if ranged && ok {
			to, ok = weekday(last)
		} else if stepped {
			to = 6
		}
		if stepped && ok {
			n, err := strconv.Atoi(by)
			step, ok = n, err == nil && n > 0
		}
		if !ok {
			continue
		}
		from %= 7
		if !ranged {
			to %= 7
		}
		if to < from {
			to += 7
		}
		var list []string
		for day := from; day <= to; day += step {
			list = append(list, strconv.Itoa(day%7))
		}
		items[i] = strings.Join(list, ",")
	}
	return strings.Join(items, ",")
}

func weekday(text string) (int, bool) {
	if n := slices.IndexFunc(strings.Fields(days),
		func(day string) bool { return day[:3] == strings.ToLower(text) }); n >= 0 {
		return n, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && n <= 7
}

// interval reports whether the plan is @every some time, for which zones do not matter.
func (p plan) interval() bool {
	_, ok := p.cron.(cron.ConstantDelaySchedule)
	return ok
}

// maxChanges is how many changes of a zone's clock are looked at for the next time of a plan,
// which the library looks for in five years.
const maxChanges = 64

// after returns the first time after another one; zero if there is none.
func (p plan) after(last time.Time, zone *time.Location) time.Time {
	if p.interval() {
		return p.cron.Next(last.In(zone))
	}
	last = last.In(zone)
	for range maxChanges {
		since, until := last.Add(time.Second).ZoneBounds()
		next, ok := p.between(last, since)
		if !ok {
			return time.Time{}
		}
		if until.IsZero() || next.Before(until) {
			return next
		}
		last = until.Add(-time.Nanosecond)
	}
	return time.Time{}
}

// between returns the next time after another one, as if the zone did not change its clock
// again after since, where it last did.
func (p plan) between(last, since time.Time) (time.Time, bool) {
	now, before := offset(last.Add(time.Second)), offset(since.Add(-time.Second))
	if since.IsZero() {
		before = now
	}
	from := last
	if twice := since.Add(before - now); !p.steady && now < before && from.Before(twice) {
		from = twice.Add(-time.Nanosecond) // it came already
	}
	next := p.cron.Next(wall(from, now))
	if next.IsZero() {
		return next, false
	}
	next = next.Add(-now).In(last.Location())
	gap := now - before
	if gap <= 0 || !last.Before(since.Add(gap)) {
		return next, true
	}
	if p.steady && p.cron.Next(wall(since.Add(-time.Nanosecond), now)).Before(wall(since.Add(gap), now)) {
		return next, true
	}
	if moved := p.cron.Next(wall(last, before)); moved.Before(wall(since, now)) {
		if moved = moved.Add(-before).In(last.Location()); moved.Before(next) {
			return moved, true
		}
	}
	return next, true
}

func offset(at time.Time) time.Duration {
	_, seconds := at.Zone()
	return time.Duration(seconds) * time.Second
}

// wall returns the time on the wall of a zone with an offset, as a time of UTC.
func wall(at time.Time, offset time.Duration) time.Time { return at.UTC().Add(offset) }

// layouts are how people and models write a time, in RFC 3339 and near to it.
func layouts() (list []string) {
	for _, between := range []string{"T", " "} {
		for _, clock := range []string{"15:04:05", "15:04"} {
			for _, zone := range []string{"", "Z07:00", "Z0700", " Z07:00", " Z0700"} {
				list = append(list, "2006-01-02"+between+clock+zone)
			}
		}
	}
	return list
}

// parseTime reads a time, and reports whether it is one on the wall of some zone: such a time has
// no offset of its own, and is returned as one of UTC.
func parseTime(text string) (at time.Time, onWall, ok bool) {
	text = strings.ToUpper(strings.TrimSpace(text))
	for _, layout := range layouts() {
		if at, err := time.Parse(layout, text); err == nil {
			return at, !strings.Contains(layout, "Z07"), true
		}
	}
	return time.Time{}, false, false
}

// fromWall returns when the wall of a zone shows the text of a time of UTC, as a plan reads it.
func fromWall(at time.Time, zone *time.Location) time.Time {
	early := at.Add(-offset(at.AddDate(0, 0, -2).In(zone))).In(zone)
	late := at.Add(-offset(early)).In(zone)
	if wall(early, offset(early)).Equal(at) || !wall(late, offset(late)).Equal(at) {
		return early
	}
	return late
}

// NextRun says when a task runs next, and whether the clock is set forward over its usual time
// on that day. It is empty if the task never runs.
func (t Task) NextRun() string {
	if t.Next.IsZero() {
		return ""
	}
	next := t.Next
	if t.Zone != "" {
		next = next.In(t.zone())
	}
	text, shown := next.Format("Monday 2006-01-02 15:04 MST"), wall(next, offset(next))
	meant := shown
	if at, local, ok := parseTime(t.When); ok && local {
		meant = at
	} else if p, err := parsePlan(t.When); err == nil && !p.interval() {
		meant = p.cron.Next(shown.Add(-time.Nanosecond))
	}
	if !meant.Equal(shown) {
		text += " (on that day the clock is set forward over the usual time)"
	}
	return text
}
