package demo

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxRecords limits the records that calls create; the oldest is dropped first.
const maxRecords = 1000

// world is the company: tables that never change, and the changes that calls have
// made. It is safe for concurrent use.
type world struct {
	// Lists are names that several kinds share: people, services, ...
	Lists map[string][]string `json:"lists"`
	// References maps an argument to what it names: a kind, or a list ("@service").
	References map[string]string `json:"references"`
	Kinds      map[string]*kind  `json:"kinds"`
	// Logs are message templates by service and level.
	Logs map[string]map[string][]string `json:"logs"`
	// Phrases are known translations, each from language to text.
	Phrases []map[string]string `json:"phrases"`
	// Rates are the prices of one euro.
	Rates map[string]float64 `json:"rates"`
	// Hours are the time zones of cities, in hours from UTC.
	Hours map[string]float64 `json:"hours"`

	mu      sync.Mutex
	created []record
	changed map[string]map[string]string // fields by record key
	gone    map[string]bool              // by record key
}

// kind is a table. Its rows are listed, or drawn from a specification for each column;
// see [world.value].
type kind struct {
	// One is the word for a single record.
	One string `json:"one"`
	// Columns begins with the column that names a record.
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
	Draw    []string   `json:"draw"`
	// New holds the fields of a created record in addition to its arguments.
	New map[string]string `json:"new"`
}

// record is one row with its columns' names.
type record struct {
	kind    string
	id      string
	columns []string
	fields  map[string]string
	seed    seed // of the arguments that created it
}

func (r record) key() string { return r.kind + "/" + r.id }

func newWorld() *world {
	data, err := files.ReadFile("world.json")
	if err != nil {
		panic(err)
	}
	w := &world{changed: map[string]map[string]string{}, gone: map[string]bool{}}
	if err := json.Unmarshal(data, w); err != nil {
		panic(fmt.Sprintf("demo: reading world.json: %v", err))
	}
	return w
}

// records returns the records of a kind, created ones first; deleted ones only with
// gone.
func (w *world) records(name string, now time.Time, gone bool) []record {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []record
	for i := len(w.created) - 1; i >= 0; i-- {
		if r := w.created[i]; r.kind == name {
			r.fields = maps.Clone(r.fields)
			all = append(all, r)
		}
	}
	all = append(all, w.rows(name, now)...)
	kept := all[:0]
	for _, r := range all {
		if w.gone[r.key()] && !gone {
			continue
		}
		for column, value := range w.changed[r.key()] {
			r.set(column, value)
		}
		kept = append(kept, r)
	}
	return kept
}

// rows returns the initial records of a kind.
func (w *world) rows(name string, now time.Time) []record {
	k := w.Kinds[name]
	var all []record
	for _, row := range k.Rows {
		r := record{kind: name, columns: k.Columns, fields: make(map[string]string, len(row)), id: moment(row[0], now)}
		for i, value := range row {
			r.fields[k.Columns[i]] = moment(value, now)
		}
		all = append(all, r)
	}
	if k.Draw == nil {
		return all
	}
	for i, id := range w.ids(k.Draw[0], name, now) {
		r := record{kind: name, columns: k.Columns, fields: make(map[string]string, len(k.Columns)), id: id}
		for c, spec := range k.Draw[1:] {
			r.fields[k.Columns[c+1]] = w.value(spec, seedOf(name, id).next(i*31+c), now)
		}
		r.fields[k.Columns[0]] = id
		all = append(all, r)
	}
	return all
}

// ids draws the names of a kind's records: one per entry of its list, or eight.
func (w *world) ids(spec, name string, now time.Time) []string {
	if strings.Contains(spec, ",") {
		return strings.Split(spec, ",")
	}
	list, suffix, _ := strings.Cut(strings.TrimPrefix(spec, "@"), "-")
	if entries := w.Lists[list]; spec[0] == '@' && entries != nil {
		ids := make([]string, min(len(entries), 10))
		for i := range ids {
			ids[i] = entries[i]
			if suffix != "" {
				ids[i] += "-" + suffix
			}
		}
		return ids
	}
	prefix, first, numbered := strings.Cut(spec, "#")
	if !numbered && spec[0] != '@' {
		return []string{spec}
	}
	ids := make([]string, 8)
	number, _ := strconv.Atoi(first)
	for i := range ids {
		if s := seedOf(name).next(i); numbered {
			ids[i] = prefix + strconv.Itoa(number)
			number += 1 + s.n(4)
		} else {
			ids[i] = w.value(spec, s, now)
		}
	}
	return ids
}

// find returns the record that text names: by its whole id, by part of it, or by any
// other field.
func find(all []record, text string) (record, bool) {
	text = fold(text)
	for _, r := range all {
		if fold(r.id) == text {
			return r, true
		}
	}
	if len(text) < 3 {
		return record{}, false
	}
	for _, r := range all {
		if at := strings.Index(fold(r.id), text); at >= 0 && !cutsNumber(fold(r.id), text, at) {
			return r, true
		}
	}
	if strings.ContainsAny(text, "0123456789") {
		return record{}, false // an unknown number
	}
	for _, r := range all {
		if r.mentions(text) {
			return r, true
		}
	}
	return record{}, false
}

// cutsNumber reports whether the part of id that begins at at ends inside a
// number: OPS-104 does not name OPS-1042.
func cutsNumber(id, part string, at int) bool {
	digit := func(i int) bool { return i < len(id) && id[i] >= '0' && id[i] <= '9' }
	end := at + len(part)
	return digit(end-1) && digit(end)
}

// add stores a record that a call created. Repeating the call does not create a second
// record.
func (w *world) add(r record, prefix string, number int) record {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := map[string]bool{}
	for _, c := range w.created {
		switch {
		case c.kind != r.kind:
		case c.seed == r.seed:
			return c
		default:
			taken[c.id] = true
		}
	}
	if prefix != "" {
		for r.id = prefix + strconv.Itoa(number); taken[r.id]; number++ {
			r.id = prefix + strconv.Itoa(number+1)
		}
		r.fields[r.columns[0]] = r.id
	}
	delete(w.gone, r.key())
	if len(w.created) == maxRecords {
		delete(w.changed, w.created[0].key())
		delete(w.gone, w.created[0].key())
		w.created = append(w.created[:0], w.created[1:]...)
	}
	w.created = append(w.created, r)
	return r
}

func (w *world) change(r record, column, value string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed[r.key()] == nil {
		w.changed[r.key()] = map[string]string{}
	}
	w.changed[r.key()][column] = value
}

func (w *world) remove(r record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone[r.key()] = true
}

// set sets a field of a record and adds the column if it is missing.
func (r *record) set(column, value string) {
	if !slices.Contains(r.columns, column) {
		r.columns = append(r.columns[:len(r.columns):len(r.columns)], column)
	}
	r.fields[column] = value
}

// mentions reports whether any field contains the folded text.
func (r record) mentions(text string) bool {
	for _, value := range r.fields {
		if strings.Contains(fold(value), text) {
			return true
		}
	}
	return false
}

var folding = strings.NewReplacer("_", " ", "-", " ")

// fold normalizes text for comparison: case, '_' and '-' do not matter.
func fold(text string) string { return folding.Replace(strings.ToLower(strings.TrimSpace(text))) }
