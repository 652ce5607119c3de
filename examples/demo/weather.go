package demo

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// weather answers with the current weather of a place, or with "forecast" for the
// coming days. A place has the same weather on the same day for every question.
func (c *call) weather() (reply, error) {
	city := c.args["city"]
	day, rain := sky(city, c.now)
	if c.tool.object != "forecast" {
		return c.say(fmt.Sprintf("%s now: %s. Wind %s km/h, humidity %s %%, chance of rain %d %%.",
			city, day, seedOf(city, "wind").between("4-38"), seedOf(city, "humidity").between("38-92"), rain)), nil
	}
	days := 3
	if n, err := strconv.Atoi(c.args["days"]); err == nil {
		days = min(max(n, 1), 10)
	}
	first := c.now
	if date, ok := readDate(c.args["date"], c.now); ok {
		first, days = date, 1
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Forecast for %s, %d %s", city, days, plural("day", days))
	for i := range days {
		date := first.AddDate(0, 0, i)
		day, rain := sky(city, date)
		fmt.Fprintf(&b, "\n%s  %s, chance of rain %d %%", date.Format("Mon 2006-01-02"), day, rain)
	}
	return c.say(b.String()), nil
}

// sky draws a day's weather: the season determines the temperature, the place shifts
// it.
func sky(city string, day time.Time) (text string, rain int) {
	s := seedOf(strings.ToLower(city), day.Format(time.DateOnly))
	season := -math.Cos(2 * math.Pi * float64(day.YearDay()-20) / 365)
	high := int(14+11*season) + seedOf(strings.ToLower(city)).n(9) - 4 + s.n(7) - 3
	rain = s.next(1).n(101)
	name := "sunny"
	switch {
	case rain > 80 && high < 2:
		name = "snow"
	case rain > 80:
		name = "rain"
	case rain > 55:
		name = "showers"
	case rain > 30:
		name = "cloudy"
	}
	return fmt.Sprintf("%s, %d to %d °C", name, high-4-s.next(2).n(5), high), rain
}
