package schedule_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/schedule"
	"github.com/etui-run/etui/store"
)

// TestTimes: the times of a task, also around the changes of a zone's clock.
func TestTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		when, zone, from string // from is a time of UTC
		want             string // the next times by the wall, with the offsets
	}{
		// the gap: a time that the day does not have
		{"30 2 28 3 *", "Europe/Berlin", "2027-01-01 00:00:00", "2027-03-28T03:30+02 2028-03-28T02:30+02"},
		{"30 2 * * *", "Europe/Berlin", "2027-03-27 00:00:00", "2027-03-27T02:30+01 2027-03-28T03:30+02 2027-03-29T02:30+02"},
		{"0 3 * * *", "Europe/Berlin", "2027-03-27 12:00:00", "2027-03-28T03:00+02 2027-03-29T03:00+02"},
		{"0,30 2 * * *", "Europe/Berlin", "2027-03-27 12:00:00", "2027-03-28T03:00+02 2027-03-28T03:30+02 2027-03-29T02:00+02"},
		{"0 0 * * *", "Africa/Cairo", "2027-04-28 12:00:00", "2027-04-29T00:00+02 2027-04-30T01:00+03 2027-05-01T00:00+03"},
		{"@daily", "Asia/Beirut", "2027-03-26 12:00:00", "2027-03-27T00:00+02 2027-03-28T01:00+03 2027-03-29T00:00+03"},
		{"15 2 * * *", "Australia/Lord_Howe", "2026-10-03 00:00:00", "2026-10-04T02:45+11 2026-10-05T02:15+11"},
		{"0 9 * * *", "Pacific/Apia", "2011-12-29 00:00:00", "2011-12-29T09:00-10 2011-12-31T09:00+14 2012-01-01T09:00+14"},
		{"0 9 30 12 *", "Pacific/Apia", "2011-12-01 00:00:00", "2011-12-31T09:00+14 2012-12-30T09:00+14"},
		// the hour that comes twice
		{"30 1 1 11 *", "America/New_York", "2026-10-01 00:00:00", "2026-11-01T01:30-04 2027-11-01T01:30-04"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-24 12:00:00", "2026-10-25T02:30+02 2026-10-26T02:30+01"},
		{"0 2 * * *", "Europe/Berlin", "2026-10-24 12:00:00", "2026-10-25T02:00+02 2026-10-26T02:00+01"},
		{"0 3 * * *", "Europe/Berlin", "2026-10-24 12:00:00", "2026-10-25T03:00+01 2026-10-26T03:00+01"},
		{"0 0 * * *", "Africa/Cairo", "2026-10-29 12:00:00", "2026-10-30T00:00+02 2026-10-31T00:00+02"},
		{"30 23 * * *", "Africa/Cairo", "2026-10-29 12:00:00", "2026-10-29T23:30+03 2026-10-30T23:30+02"},
		{"30 23 * * *", "Asia/Beirut", "2026-10-24 12:00:00", "2026-10-24T23:30+03 2026-10-25T23:30+02"},
		{"45 1 * * *", "Australia/Lord_Howe", "2027-04-03 00:00:00", "2027-04-04T01:45+11 2027-04-05T01:45+10:30"},
		{"30 1 * * *", "America/New_York", "2026-11-01 06:00:00", "2026-11-02T01:30-05"}, // asked for between the two
		// every few minutes, every hour
		{"*/30 * * * *", "Europe/Berlin", "2026-10-25 00:10:00", "2026-10-25T02:30+02 2026-10-25T02:00+01 2026-10-25T02:30+01 2026-10-25T03:00+01"},
		{"*/30 * * * *", "Europe/Berlin", "2027-03-28 00:10:00", "2027-03-28T01:30+01 2027-03-28T03:00+02 2027-03-28T03:30+02 2027-03-28T04:00+02"},
		{"5-59/25 * * * *", "Europe/Berlin", "2027-03-28 00:40:00", "2027-03-28T01:55+01 2027-03-28T03:05+02"},
		{"20 * * * *", "America/New_York", "2026-11-01 04:30:00", "2026-11-01T01:20-04 2026-11-01T01:20-05 2026-11-01T02:20-05"},
		{"*/30 2 * * *", "Europe/Berlin", "2026-10-24 12:00:00", "2026-10-25T02:00+02 2026-10-25T02:30+02 2026-10-25T02:00+01 2026-10-25T02:30+01 2026-10-26T02:00+01"},
		{"*/30 2 * * *", "Europe/Berlin", "2027-03-27 12:00:00", "2027-03-28T03:00+02 2027-03-28T03:30+02 2027-03-29T02:00+02"},
		{"*/20 * * * *", "Australia/Lord_Howe", "2026-10-03 15:00:00", "2026-10-04T01:40+10:30 2026-10-04T02:40+11 2026-10-04T03:00+11"},
		{"@every 45m", "Europe/Berlin", "2026-10-25 00:00:00", "2026-10-25T02:45+02 2026-10-25T02:30+01 2026-10-25T03:15+01"},
		// Sunday, names, ranges over the end of the week
		{"0 9 * * 7", "UTC", "2026-03-02 00:00:00", "2026-03-08T09:00Z 2026-03-15T09:00Z"},
		{"0 9 * * SUN,Wednesday", "UTC", "2026-03-02 00:00:00", "2026-03-04T09:00Z 2026-03-08T09:00Z"},
		{"0 9 * * 6-7", "UTC", "2026-03-02 00:00:00", "2026-03-07T09:00Z 2026-03-08T09:00Z 2026-03-14T09:00Z"},
		{"0 9 * * fri-mon/2", "UTC", "2026-03-02 00:00:00", "2026-03-06T09:00Z 2026-03-08T09:00Z 2026-03-13T09:00Z"},
		{"0 9 * * sat-sun", "UTC", "2026-03-02 00:00:00", "2026-03-07T09:00Z 2026-03-08T09:00Z 2026-03-14T09:00Z"},
		{"0 9 * * 0-7", "UTC", "2026-03-02 00:00:00", "2026-03-02T09:00Z 2026-03-03T09:00Z"},
		{"0 9 * * 5/2", "UTC", "2026-03-02 00:00:00", "2026-03-06T09:00Z 2026-03-13T09:00Z"},
		{"0 9 1 January,Sept *", "UTC", "2026-03-02 00:00:00", "2026-09-01T09:00Z 2027-01-01T09:00Z"},
		// once
		{"2026-12-24T18:00:00+01:00", "UTC", "2026-03-02 00:00:00", "2026-12-24T17:00Z"},
		{"2026-12-24T18:00Z", "Europe/Berlin", "2026-03-02 00:00:00", "2026-12-24T19:00+01"},
		{"2026-12-24t18:00:00.5z", "UTC", "2026-03-02 00:00:00", "2026-12-24T18:00Z"},
		{"2026-12-24 18:00:00 +0100", "UTC", "2026-03-02 00:00:00", "2026-12-24T17:00Z"},
		{"2026-12-24 18:00", "Asia/Shanghai", "2026-03-02 00:00:00", "2026-12-24T18:00+08"},
		{"2027-03-28T02:30", "Europe/Berlin", "2026-03-02 00:00:00", "2027-03-28T03:30+02"},
		{"2026-11-01T01:30", "America/New_York", "2026-03-02 00:00:00", "2026-11-01T01:30-04"},
		{"2011-12-31T10:00", "Pacific/Apia", "2011-03-02 00:00:00", "2011-12-31T10:00+14"},
	} {
		now := newClock(c.from)
		g, _ := timed(t, now, &store.Memory{}, 0)
		var got []string
		for range strings.Fields(c.want) {
			task, err := g.tasks.Add(t.Context(), schedule.Task{When: c.when, Zone: c.zone, Text: "x", Caller: identity.Caller{User: "ann"}})
			if err != nil {
				got = append(got, err.Error())
				break
			}
			text := strings.TrimSuffix(task.Next.Format("2006-01-02T15:04Z07:00"), ":00")
			got = append(got, text)
			next := task.Next.UTC()
			now.now.Store(&next)
		}
		if all := strings.Join(got, " "); all != c.want {
			t.Errorf("%s in %s after %s\ngot  %s\nwant %s", c.when, c.zone, c.from, all, c.want)
		}
	}
}

// TestTimesOfDay: whatever the zone, what runs once a day runs once on each day that there is, and
// what runs every ten minutes does so all the time.
func TestTimesOfDay(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Africa/Cairo", "Asia/Beirut", "America/Santiago", "Africa/Casablanca", "Asia/Kathmandu"} {
		zone, err := time.LoadLocation(name)
		must(t, err)
		for hour := range 5 {
			task := schedule.Task{When: fmt.Sprintf("%d %d * * *", 30*(hour%2), hour), Zone: name}
			ran := map[string]int{}
			for at := time.Date(2026, 1, 1, 12, 0, 0, 0, zone); len(ran) < 400; {
				at = task.After(at)
				day := at.Format(time.DateOnly)
				if ran[day]++; ran[day] > 1 {
					t.Errorf("%s in %s runs twice on %s", task.When, name, day)
				}
			}
			first, last := time.Date(2026, 1, 2, 0, 0, 0, 0, zone), 0
			for day := range ran {
				at, _ := time.ParseInLocation(time.DateOnly, day, zone)
				last = max(last, int(at.Sub(first).Hours()+2)/24)
			}
			if last != 399 {
				t.Errorf("%s in %s ran on 400 of %d days", task.When, name, last+1)
			}
		}
		task, change := schedule.Task{When: "*/10 * * * *", Zone: name}, time.Date(2026, 1, 1, 0, 0, 0, 0, zone)
		for range 3 {
			if _, change = change.ZoneBounds(); change.IsZero() || change.Year() > 2030 {
				break
			}
			for at := change.Add(-5 * time.Hour); at.Before(change.Add(5 * time.Hour)); at = at.Add(10 * time.Minute) {
				if next := task.After(at); next.Sub(at) != 10*time.Minute {
					t.Errorf("%s in %s runs at %s and then at %s", task.When, name, at, next)
				}
			}
		}
	}
}

// TestUpcoming: people and models read when a task runs, and why that is another time than they said.
func TestUpcoming(t *testing.T) {
	t.Parallel()
	g, _ := timed(t, newClock("2027-03-27 12:00:00"), &store.Memory{}, 0)
	const moved = " (on that day the clock is set forward over the usual time)"
	for when, want := range map[string]string{
		"30 2 * * *":       "Sunday 2027-03-28 03:30 CEST" + moved,
		"2027-03-28T02:30": "Sunday 2027-03-28 03:30 CEST" + moved,
		"30 3 * * *":       "Sunday 2027-03-28 03:30 CEST",
		"2027-03-28T03:30": "Sunday 2027-03-28 03:30 CEST",
		"@every 15h":       "Sunday 2027-03-28 05:00 CEST",
	} {
		task, err := g.tasks.Add(t.Context(), schedule.Task{When: when, Zone: "Europe/Berlin", Text: "x", Caller: identity.Caller{User: "ann"}})
		must(t, err)
		if got := task.NextRun(); got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
}
