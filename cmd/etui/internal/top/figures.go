package top

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// metrics are the samples of a gateway's /metrics, by name and labels as they are written.
type metrics map[string]float64

// parse reads the text format of Prometheus, as far as etui writes it.
func parse(text string) metrics {
	m := metrics{}
	for line := range strings.Lines(text) {
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || line[0] == '#' {
			continue
		}
		if value, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64); err == nil {
			m[line[:at]] = value
		}
	}
	return m
}

// since returns how much each sample grew. A gateway that started anew counts from zero.
func (m metrics) since(earlier metrics) metrics {
	if m["etui_turn_seconds_count"] < earlier["etui_turn_seconds_count"] {
		return m
	}
	grown := metrics{}
	for name, value := range m {
		grown[name] = value - earlier[name]
	}
	return grown
}

// sum adds up the samples of a name whose labels have a part.
func (m metrics) sum(name, part string) int {
	sum := 0.0
	for sample, value := range m {
		if of, labels, _ := strings.Cut(sample, "{"); of == name && strings.Contains(labels, part) {
			sum += value
		}
	}
	return int(sum)
}

// Took is how long things took.
type Took struct {
	Count int `json:"count"`
	// Half and Most are the seconds within which half of them and 95 % of them ended, as far as the
	// classes of the metrics tell. Null means that it was longer than the last class, or none ended.
	Half *float64 `json:"p50"`
	Most *float64 `json:"p95"`
}

func (m metrics) took(name string) Took {
	type class struct{ bound, below float64 }
	var classes []class
	for sample, below := range m {
		if label, ok := strings.CutPrefix(sample, name+`_bucket{le="`); ok {
			bound, err := strconv.ParseFloat(strings.TrimSuffix(label, `"}`), 64)
			if err == nil {
				classes = append(classes, class{bound, below})
			}
		}
	}
	slices.SortFunc(classes, func(a, b class) int { return cmp.Compare(a.bound, b.bound) })
	count := m[name+"_count"]
	within := func(part float64) *float64 {
		last := class{}
		for _, c := range classes {
			if c.below >= part*count && c.below > last.below && !math.IsInf(c.bound, 0) {
				in := last.bound + (c.bound-last.bound)*(part*count-last.below)/(c.below-last.below)
				return &in
			}
			last = c
		}
		return nil
	}
	return Took{int(count), within(0.5), within(0.95)}
}
