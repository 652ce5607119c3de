package demo

import (
	"strconv"
	"strings"
	"time"
)

// minutely is the format of moments in answers.
const minutely = "2006-01-02 15:04"

// moment resolves a relative date of the tables: "@+2" is the day after tomorrow, "@+2
// 10:00" a time on that day, "@b+2" the second working day from now, "@m-1" last
// month, "@-20m" and "@-3h" a while ago. Other text is returned unchanged.
func moment(value string, now time.Time) string {
	rest, ok := strings.CutPrefix(value, "@")
	if !ok {
		return value
	}
	if d, err := time.ParseDuration(rest); err == nil && rest != "0" {
		return now.Add(d).Format(minutely)
	}
	offset, clock, _ := strings.Cut(rest, " ")
	if month, ok := strings.CutPrefix(offset, "m"); ok {
		n, _ := strconv.Atoi(month)
		return now.AddDate(0, n, 1-now.Day()).Format("2006-01")
	}
	offset, working := strings.CutPrefix(offset, "b")
	days, err := strconv.Atoi(offset)
	if err != nil {
		return value
	}
	day := now.AddDate(0, 0, days)
	if working {
		day = workday(now, days)
	}
	return strings.TrimSpace(day.Format(time.DateOnly) + " " + clock)
}

// workday is the n-th working day after now.
func workday(now time.Time, n int) time.Time {
	for n > 0 {
		now = now.AddDate(0, 0, 1)
		if now.Weekday() != time.Saturday && now.Weekday() != time.Sunday {
			n--
		}
	}
	return now
}

// readDate parses a day or a moment in the forms that people and models use.
func readDate(text string, now time.Time) (time.Time, bool) {
	day := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch strings.ToLower(text) {
	case "today", "now", "今天":
		return day, true
	case "tomorrow", "明天":
		return day.AddDate(0, 0, 1), true
	case "yesterday", "昨天":
		return day.AddDate(0, 0, -1), true
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", minutely, time.DateOnly, "2006-01"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// readSince parses how far to look back: a date, or a duration such as 30m, 2h, 7d or
// 2w.
func readSince(text string, now time.Time) (time.Time, bool) {
	if t, ok := readDate(text, now); ok {
		return t, true
	}
	if n := len(text); n > 1 && (text[n-1] == 'd' || text[n-1] == 'w') {
		days, err := strconv.Atoi(text[:n-1])
		if text[n-1] == 'w' {
			days *= 7
		}
		return now.AddDate(0, 0, -days), err == nil
	}
	d, err := time.ParseDuration(text)
	return now.Add(-d), err == nil
}
