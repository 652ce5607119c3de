package demo

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// scales are the units and the usual ranges of the metrics.
var scales = map[string]struct{ unit, span string }{
	"cpu":          {"%", "18-72"},
	"memory":       {"%", "35-81"},
	"disk":         {"%", "41-88"},
	"requests":     {"req/s", "240-1800"},
	"latency":      {"ms", "45-380"},
	"errors":       {"%", "0.10-3.80"},
	"revenue":      {"EUR", "48000-96000"},
	"active_users": {"users", "8200-14600"},
	"conversion":   {"%", "2.10-4.60"},
	"orders":       {"orders", "310-920"},
	"margin":       {"%", "36.0-44.0"},
}

// metric answers with twelve values of a metric, the last one current. The object of
// the verb names the metric if no argument does.
func (c *call) metric() (reply, error) {
	name := c.tool.object
	for _, arg := range []string{"metric", "kpi"} {
		if c.args[arg] != "" {
			name = c.args[arg]
		}
	}
	scale, ok := scales[name]
	if !ok {
		scale = scales["requests"]
	}
	of := c.fill("{service=" + c.fill("{server=all services}") + "}")
	step := c.step()
	values := make([]float64, 12)
	at := make([]string, len(values))
	s := seedOf(name, of, c.args["period"], c.args["since"])
	base := number(s.between(scale.span))
	for i := range values {
		// A value stays near the level of its series and within its range.
		drawn := s.next(i).between(scale.span)
		_, decimals, _ := strings.Cut(drawn, ".")
		text := strconv.FormatFloat((2*base+number(drawn))/3, 'f', len(decimals), 64)
		values[i] = number(text)
		at[i] = c.now.Add(-step * time.Duration(len(values)-1-i)).Format(minutely)
	}
	low, high, sum := values[0], values[0], 0.0
	for _, v := range values {
		low, high, sum = min(low, v), max(high, v), sum+v
	}
	last, first := values[len(values)-1], values[0]
	label := strings.ReplaceAll(strings.Replace(name, "cpu", "CPU", 1), "_", " ")
	if c.args["kpi"] == "" {
		label += " of " + of
	}
	text := fmt.Sprintf("%s: %s now (%+.1f %% since %s)\n%s\nlowest %s, highest %s, average %s",
		strings.ToUpper(label[:1])+label[1:], amount(last, scale.unit), (last/first-1)*100, at[0], sparkline(values, low, high),
		amount(low, scale.unit), amount(high, scale.unit), amount(sum/float64(len(values)), scale.unit))
	if c.args["baseline"] != "" || c.tool.name == "compare_metrics" {
		before := sum / float64(len(values)) * (0.8 + float64(s.n(40))/100)
		text += fmt.Sprintf("\nin the period to compare with (%s): average %s", c.fill("{baseline=the week before}"), amount(before, scale.unit))
	}
	data, _ := json.Marshal(map[string]any{"metric": name, "of": of, "unit": scale.unit, "time": at, "values": values}) // finite numbers
	return reply{Text: text, Data: data}, nil
}

// step is the time between two values: a twelfth of the period.
func (c *call) step() time.Duration {
	if from, ok := readSince(c.args["since"], c.now); ok && from.Before(c.now) {
		return c.now.Sub(from) / 12
	}
	const day = 24 * time.Hour
	if d, ok := map[string]time.Duration{"day": 2 * time.Hour, "week": 14 * time.Hour, "month": 60 * time.Hour, "quarter": 7 * day, "year": 30 * day}[c.args["period"]]; ok {
		return d
	}
	if c.args["kpi"] != "" {
		return 60 * time.Hour
	}
	return 5 * time.Minute
}

func amount(v float64, unit string) string {
	text := strconv.FormatFloat(v, 'f', 2, 64)
	if v >= 100 {
		text = money(strconv.FormatFloat(v, 'f', 0, 64))
	}
	return strings.TrimSuffix(text, ".00") + " " + unit
}

func sparkline(values []float64, low, high float64) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	line := make([]rune, len(values))
	for i, v := range values {
		line[i] = bars[0]
		if high > low {
			line[i] = bars[int((v-low)/(high-low)*float64(len(bars)-1))]
		}
	}
	return string(line)
}
