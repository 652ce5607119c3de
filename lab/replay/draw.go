package replay

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/etui-run/etui/internal/printable"
)

// Row is what a table or picture shows of a mode: its runs, one for each provider.
type Row struct {
	// Name is the mode; with ", before" in a report that another is compared with.
	Name string
	Runs []Run
}

// Rows returns the rows of two reports, those before a change first.
func Rows(before, after Report) []Row {
	var rows []Row
	for _, r := range before.Runs {
		rows = addTo(rows, string(r.Mode)+", before", r)
	}
	for _, r := range after.Runs {
		rows = addTo(rows, string(r.Mode), r)
	}
	return rows
}

func addTo(rows []Row, name string, r Run) []Row {
	if n := len(rows); n > 0 && rows[n-1].Name == name {
		rows[n-1].Runs = append(rows[n-1].Runs, r)
		return rows
	}
	return append(rows, Row{name, []Run{r}})
}

// The picture's measures, in pixels.
const (
	wide      = 860
	line      = 46 // of a row
	first     = 92 // where the first row begins
	needsAt   = 150
	needsWide = 300
	costAt    = 490
	costWide  = 210
)

// The picture's colours.
const (
	dark, pale, red = "#1f7a8c", "#9fd3dc", "#d1495b"
	ink, grey       = "#1c2b33", "#5b6b73"
)

var costColours = []string{"#c98a2b", "#6b7fa8"}

// SVG draws the rows of two reports: how the needed tools reached the model, and what was
// spent at each provider.
func SVG(before, after Report) string {
	rows := Rows(before, after)
	most := 0.0
	for _, row := range rows {
		for _, r := range row.Runs {
			most = max(most, r.Dollars)
		}
	}
	var b strings.Builder
	height := first + len(rows)*line + 16
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="ui-sans-serif, system-ui, sans-serif" font-size="13">`+"\n", wide, height, wide, height)
	text := func(x, y int, style, format string, args ...any) {
		fmt.Fprintf(&b, `<text x="%d" y="%d" %s>%s</text>`+"\n", x, y, style, html.EscapeString(fmt.Sprintf(format, args...)))
	}
	bar := func(x, y, w, h int, colour string) {
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n", x, y, max(w, 0), h, colour)
	}
	bar(0, 0, wide, height, "#fbfaf7")
	heading := `font-size="14" font-weight="600" fill="` + ink + `"`
	small := `font-size="12" fill="` + grey + `"`
	if len(rows) > 0 {
		r := rows[0].Runs[0]
		turns := 0
		for _, c := range r.Conversations {
			turns += len(c.Turns)
		}
		text(24, 32, heading, "%s, %s, %s needed", printable.Count(len(r.Conversations), "conversation"), printable.Count(turns, "turn"), printable.Count(r.Needs, "tool"))
	}
	x := needsAt
	for _, part := range []struct{ colour, what string }{{dark, "at hand"}, {pale, "after a search"}, {red, "missed"}} {
		bar(x, 60, 12, 12, part.colour)
		text(x+18, 71, small, "%s", part.what)
		x += 40 + 7*len(part.what)
	}
	x = costAt
	for i, p := range Providers() {
		bar(x, 60, 12, 12, costColours[i%len(costColours)])
		text(x+18, 71, small, "%s", p.Model)
		x += 40 + 7*len(p.Model)
	}
	base := map[string]float64{}
	for i, row := range rows {
		y := first + i*line
		r := row.Runs[0]
		text(24, y+21, `fill="`+ink+`"`, "%s", row.Name)
		at := needsAt
		for _, part := range []struct {
			colour string
			n      int
		}{{dark, r.Direct}, {pale, r.Found}, {red, r.Missed}} {
			w := needsWide * part.n / max(r.Needs, 1)
			bar(at, y+2, w, 16, part.colour)
			at += w
		}
		text(needsAt, y+33, small, "%.1f %% at hand, %.1f %% with a search", 100*r.Recall(), 100*r.Reached())
		for k, r := range row.Runs {
			w := 0
			if most > 0 {
				w = int(costWide * r.Dollars / most)
			}
			colour := k
			if i := slices.IndexFunc(Providers(), func(p Provider) bool { return p.Name == r.Provider }); i >= 0 {
				colour = i
			}
			bar(costAt, y+2+k*18, w, 14, costColours[colour%len(costColours)])
			said := fmt.Sprintf("$%.4f", r.Dollars)
			if b := base[r.Provider]; b > 0 {
				said += fmt.Sprintf(" (%+.0f %%)", 100*(r.Dollars/b-1))
			} else {
				base[r.Provider] = r.Dollars
			}
			text(costAt+w+8, y+13+k*18, small, "%s", said)
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}
