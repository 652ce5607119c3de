package offline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	isoTime  = lazily(`\b(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)`)
	isoDate  = lazily(`\b(\d{4}-\d{1,2}-\d{1,2})\b`)
	dayMonth = lazily(`(?i)\b(?:(\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?)?(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?(?:\s+(\d{1,2})(?:st|nd|rd|th)?)?\b`)
	chinaDay = lazily(`(?:(\d{4})年)?(\d{1,2})月(\d{1,2})[日号]?`)
	weekday  = lazily(`(?i)\b(?:(next|this)\s+)?(monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b|(下|这|本)?(?:个)?(?:周|星期|礼拜)([一二三四五六日天])`)
	relative = lazily(`(?i)\b(today|tonight|tomorrow|yesterday|day after tomorrow)\b|(大后天|后天|今天|今晚|明天|明早|昨天|前天)`)
	clock    = lazily(`(?i)\b(?:at\s+)?(\d{1,2})(?::(\d{2}))?\s*(am|pm)\b|\b(\d{1,2}):(\d{2})\b|(上午|早上|下午|晚上|中午)?(\d{1,2}|一|两|二|三|四|五|六|七|八|九|十|十一|十二)点(半|(\d{1,2})分)?`)
)

// moment finds a date, a time or both, and writes them in the parameter's format. A
// string without a format gets a date, or a time if the message has no date.
func (m *message) moment(p *parameter) (any, bool) {
	if text, ok := m.match(isoTime); ok {
		return text, true
	}
	// A date-time belongs to the parameter that begins a span; look for a time of day
	// only if one is wanted.
	wantsTime := p.Format != "date" &&
		(p.Format != "" || !strings.Contains(p.name, "date") && !strings.Contains(p.name, "day"))
	var day time.Time
	var haveDay, haveClock bool
	if p.Format != "time" {
		day, haveDay = m.day()
	}
	hour, minute := 0, 0
	if wantsTime {
		hour, minute, haveClock = m.clock()
	}
	switch {
	case !haveDay && !haveClock:
		return nil, false
	case p.Format == "time" || !haveDay && p.Format == "":
		return fmt.Sprintf("%02d:%02d", hour, minute), haveClock
	case !haveDay:
		day = m.now
	}
	if p.Format == "date-time" {
		return time.Date(day.Year(), day.Month(), day.Day(), hour, minute, 0, 0, m.now.Location()).Format(time.RFC3339),
			true
	}
	if haveClock {
		return fmt.Sprintf("%s %02d:%02d", day.Format(time.DateOnly), hour, minute), true
	}
	return day.Format(time.DateOnly), true
}

// find returns the groups of a pattern's first free match.
func (m *message) find(pattern expression) ([]string, bool) {
	for _, at := range pattern().FindAllStringSubmatchIndex(m.text, 20) {
		if !m.take(at[0], at[1]) {
			continue
		}
		groups := make([]string, len(at)/2)
		for g := range groups {
			if at[2*g] >= 0 {
				groups[g] = strings.ToLower(m.text[at[2*g]:at[2*g+1]])
			}
		}
		return groups, true
	}
	return nil, false
}

var months = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}

// day finds a day; a day without a year is the next one, counted from a month ago.
func (m *message) day() (time.Time, bool) {
	if g, ok := m.find(isoDate); ok {
		t, err := time.ParseInLocation("2006-1-2", g[1], m.now.Location())
		return t, err == nil
	}
	if g, ok := m.find(chinaDay); ok {
		return m.date(g[1], g[2], g[3])
	}
	if g, ok := m.find(dayMonth); ok && g[1]+g[3] != "" {
		month := slices.Index(months, g[2]) + 1
		return m.date("", strconv.Itoa(month), g[1]+g[3])
	}
	if g, ok := m.find(relative); ok {
		days := map[string]int{"tomorrow": 1, "yesterday": -1, "day after tomorrow": 2, "明天": 1, "明早": 1, "后天": 2,
			"大后天": 3, "昨天": -1, "前天": -2}
		return m.now.AddDate(0, 0, days[g[1]+g[2]]), true
	}
	if g, ok := m.find(weekday); ok {
		names := []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}
		want := slices.Index(names, g[2])
		if g[4] != "" {
			want = slices.Index([]string{"日", "一", "二", "三", "四", "五", "六", "天"}, g[4]) % 7
		}
		ahead := (want - int(m.now.Weekday()) + 7) % 7
		switch {
		case g[3] == "下" || g[1] == "next":
			// The day in the week after this one; weeks begin on Monday.
			monday := (int(m.now.Weekday()) + 6) % 7
			ahead = 7 - monday + (want+6)%7
		case ahead == 0 && g[1] == "" && g[3] == "":
			ahead = 7
		}
		return m.now.AddDate(0, 0, ahead), true
	}
	return time.Time{}, false
}

func (m *message) date(year, month, day string) (time.Time, bool) {
	mon, err1 := strconv.Atoi(month)
	d, err2 := strconv.Atoi(day)
	if err1 != nil || err2 != nil || mon < 1 || mon > 12 || d < 1 || d > 31 {
		return time.Time{}, false
	}
	if y, err := strconv.Atoi(year); err == nil {
		return time.Date(y, time.Month(mon), d, 0, 0, 0, 0, m.now.Location()), true
	}
	t := time.Date(m.now.Year(), time.Month(mon), d, 0, 0, 0, 0, m.now.Location())
	if t.Before(m.now.AddDate(0, -1, 0)) {
		t = t.AddDate(1, 0, 0)
	}
	return t, true
}

// clock finds a time of day.
func (m *message) clock() (hour, minute int, ok bool) {
	g, ok := m.find(clock)
	if !ok {
		return 0, 0, false
	}
	hour, err := strconv.Atoi(g[1] + g[4] + g[7])
	if err != nil {
		hour = numerals[g[7]]
		if rest, teen := strings.CutPrefix(g[7], "十"); teen && rest != "" {
			hour = 10 + numerals[rest]
		}
	}
	minute, _ = strconv.Atoi(g[2] + g[5] + g[9]) // missing minutes are zero
	if g[8] == "半" {
		minute = 30
	}
	if (g[3] == "pm" || g[6] == "下午" || g[6] == "晚上") && hour < 12 {
		hour += 12
	}
	if g[3] == "am" && hour == 12 {
		hour = 0
	}
	return hour, minute, hour < 24 && minute < 60
}
