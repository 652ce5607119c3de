package material

import (
	"archive/zip"
	"encoding/xml"
	"io"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/charset"
)

const (
	// maxXML is how many bytes of a document's parts are read in all, and maxOffice how many of its
	// text are kept.
	maxXML, maxOffice = 32 << 20, 256 << 10
	// maxColumns is how far to the right a cell of a table may be.
	maxColumns = 200
)

// office returns the text of a document of Word, Excel or PowerPoint, or of OpenDocument; empty if it
// is none, or has no text.
func office(z *zip.Reader) string {
	parts := map[string]*zip.File{}
	for _, f := range z.File {
		parts[f.Name] = f
	}
	d := &reader{parts: parts, room: maxXML}
	switch {
	case parts["word/document.xml"] != nil:
		d.prose("word/document.xml")
	case parts["xl/workbook.xml"] != nil:
		shared := d.shared()
		d.dated()
		for i, name := range numbered(parts, "xl/worksheets/sheet") {
			d.heading("Sheet", i)
			d.sheet(name, shared)
		}
	case parts["ppt/presentation.xml"] != nil:
		for i, name := range numbered(parts, "ppt/slides/slide") {
			d.heading("Slide", i)
			d.prose(name)
		}
	case parts["content.xml"] != nil && parts["mimetype"] != nil:
		d.prose("content.xml")
	}
	return strings.TrimSpace(d.out.String())
}

// numbered returns the parts that begin with a name, by their number.
func numbered(parts map[string]*zip.File, begin string) (names []string) {
	number := func(name string) int {
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(name, begin), ".xml"))
		if err != nil {
			return -1
		}
		return n
	}
	for name := range parts {
		if strings.HasPrefix(name, begin) && path.Ext(name) == ".xml" && number(name) >= 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return number(a) - number(b) })
	return names
}

// reader reads the parts of a document.
type reader struct {
	parts map[string]*zip.File
	out   strings.Builder
	room  int64 // bytes of XML

	dates []string  // by the style of a cell, how its number is shown as a time; empty means as a number
	first time.Time // day 0 of the calendar
}

func (d *reader) heading(what string, i int) {
	d.out.WriteString("\n## " + what + " " + strconv.Itoa(i+1) + "\n")
}

// tokens calls each for the parts of an XML file, until it is at its end, broken or too long.
func (d *reader) tokens(name string, each func(token xml.Token)) {
	f := d.parts[name]
	if f == nil {
		return
	}
	r, err := f.Open()
	if err != nil {
		return
	}
	defer func() { _ = r.Close() }() // it was read
	limited := &io.LimitedReader{R: r, N: d.room}
	x := xml.NewDecoder(limited)
	x.Strict, x.CharsetReader = false, charset.Reader
	for d.out.Len() < maxOffice {
		token, err := x.Token()
		if err != nil {
			break
		}
		each(token)
	}
	d.room = limited.N
}

// prose writes the paragraphs of a part, and the rows of tables in one line each.
func (d *reader) prose(name string) {
	open := 0 // elements with text: w:t, a:t, text:p, text:h, text:span
	cells := 0
	d.tokens(name, func(token xml.Token) {
		switch t := token.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "t", "h", "span", "a":
				open++
			case "p":
				open += map[bool]int{true: 1}[openDocument(t.Name.Space)]
			case "tab":
				d.out.WriteByte('\t')
			case "br", "line-break":
				d.out.WriteByte('\n')
			case "s":
				if openDocument(t.Name.Space) {
					d.out.WriteByte(' ')
				}
			case "tc", "table-cell":
				cells++
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "t", "span", "a":
				open--
			case "h", "p":
				if t.Name.Local == "h" || openDocument(t.Name.Space) {
					open--
				}
				d.out.WriteString(map[bool]string{true: " ", false: "\n"}[cells > 0])
			case "tc", "table-cell":
				cells--
				d.out.WriteString("| ")
			case "tr", "table-row":
				d.out.WriteByte('\n')
			}
		case xml.CharData:
			if open > 0 {
				d.out.Write(t)
			}
		}
	})
}

func openDocument(space string) bool { return strings.Contains(space, "opendocument") }

// shared returns the texts that the cells of a table name by number.
func (d *reader) shared() (list []string) {
	var now strings.Builder
	in, size := false, 0
	d.tokens("xl/sharedStrings.xml", func(token xml.Token) {
		switch t := token.(type) {
		case xml.StartElement:
			in = in || t.Name.Local == "t"
		case xml.EndElement:
			switch t.Name.Local {
			case "t":
				in = false
			case "si":
				list = append(list, now.String())
				now.Reset()
			}
		case xml.CharData:
			if in && size < maxXML {
				size += len(t)
				now.Write(t)
			}
		}
	})
	return list
}

// dated reads which styles of cells show a number as a time: those with a format that is built in, or has
// the letters of a time outside quotes.
func (d *reader) dated() {
	const dayAndTime, day, clock = "2006-01-02 15:04", "2006-01-02", "15:04"
	d.first = time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	d.tokens("xl/workbook.xml", func(token xml.Token) {
		if t, ok := token.(xml.StartElement); ok && t.Name.Local == "workbookPr" {
			if is := attribute(t, "date1904"); is == "1" || is == "true" {
				d.first = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
			}
		}
	})
	own, cells := map[string]string{}, false
	d.tokens("xl/styles.xml", func(token xml.Token) {
		if t, ok := token.(xml.EndElement); ok && t.Name.Local == "cellXfs" {
			cells = false
		}
		t, ok := token.(xml.StartElement)
		if !ok {
			return
		}
		switch t.Name.Local {
		case "numFmt":
			form := strings.ToLower(literal.ReplaceAllString(attribute(t, "formatCode"), ""))
			days, hours := strings.ContainsAny(form, "yd"), strings.Contains(form, "h")
			switch {
			case days && hours:
				own[attribute(t, "numFmtId")] = dayAndTime
			case days:
				own[attribute(t, "numFmtId")] = day
			case hours:
				own[attribute(t, "numFmtId")] = clock
			}
		case "cellXfs":
			cells = true
		case "xf":
			if !cells || len(d.dates) >= maxStyles {
				return
			}
			shown := own[attribute(t, "numFmtId")]
			switch n, _ := strconv.Atoi(attribute(t, "numFmtId")); {
			case n == 22:
				shown = dayAndTime
			case n >= 14 && n <= 17, n >= 27 && n <= 31, n == 36, n >= 50 && n <= 58:
				shown = day
			case n >= 18 && n <= 21, n >= 32 && n <= 35, n >= 45 && n <= 47:
				shown = clock
			}
			d.dates = append(d.dates, shown)
		}
	})
}

const maxStyles = 10_000

// literal matches what a format shows as it is.
var literal = regexp.MustCompile(`"[^"]*"|\\.|\[[^\]]*\]`)

func attribute(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// shown returns the number of a cell as its style shows it.
func (d *reader) shown(number, style string) string {
	i, err := strconv.Atoi(style)
	if err != nil || i < 0 || i >= len(d.dates) || d.dates[i] == "" {
		return number
	}
	const lastDay = 2_958_465 // in the year 9999
	days, err := strconv.ParseFloat(number, 64)
	if err != nil || !(days >= 0 && days <= lastDay) {
		return number
	}
	whole := math.Floor(days)
	at := d.first.AddDate(0, 0, int(whole)).Add(time.Duration((days - whole) * float64(24*time.Hour)).Round(time.Second))
	return at.Format(d.dates[i])
}

// sheet writes the rows of a table.
func (d *reader) sheet(name string, shared []string) {
	var row []string
	var value strings.Builder
	kind, style, column, in := "", "", 0, false
	d.tokens(name, func(token xml.Token) {
		switch t := token.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "row":
				row = nil
			case "c":
				kind, style, column = "", "", len(row)
				value.Reset()
				for _, a := range t.Attr {
					switch a.Name.Local {
					case "t":
						kind = a.Value
					case "s":
						style = a.Value
					case "r":
						column = columnOf(a.Value)
					}
				}
			case "v", "t":
				in = true
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "v", "t":
				in = false
			case "c":
				text := value.String()
				if n, err := strconv.Atoi(text); kind == "s" && err == nil && n >= 0 && n < len(shared) {
					text = shared[n]
				} else if kind == "" || kind == "n" {
					text = d.shown(text, style)
				}
				if column >= 0 && column < maxColumns {
					for len(row) <= column {
						row = append(row, "")
					}
					row[column] = strings.Join(strings.Fields(text), " ")
				}
			case "row":
				if len(row) > 0 {
					d.out.WriteString(strings.Join(row, " | ") + "\n")
				}
			}
		case xml.CharData:
			if in {
				value.Write(t)
			}
		}
	})
}

// columnOf returns the number of a cell's column: 27 for AB3.
func columnOf(cell string) int {
	n := 0
	for _, c := range strings.ToUpper(cell) {
		if c < 'A' || c > 'Z' {
			break
		}
		if n = n*26 + int(c-'A') + 1; n > maxColumns {
			break
		}
	}
	return n - 1
}
