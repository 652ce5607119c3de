package wasm

import (
	"errors"
	"fmt"
	"slices"
)

// The bounds of a module in addition to that of its file, near those of web browsers.
// The runtime trusts the counts in a module and allocates memory for them at once, so a
// few bytes could demand all memory of the machine.
const (
	maxEntries  = 1 << 17 // of a section: functions, types, exports, ...
	maxElements = 1 << 20 // of all tables together, and of their initial elements
	maxLocals   = 50_000  // of a function
	allLocals   = 4 << 20 // of all functions together

	// The runtime takes up to 160 bytes of memory for a byte of code, and keeps every value
	// that a function leaves on the stack, so that a few bytes of calls with many results
	// would take gigabytes.
	maxParameters = 100
	maxResults    = 8
	maxCode       = 8 << 20 // of all functions together
)

// bounded checks that a module has as many entries as it counts. It returns the module
// with a limit on each table and without custom sections. The runtime finds all other
// errors.
func bounded(code []byte) ([]byte, error) {
	const header = 8
	out := slices.Clone(code[:header])
	b := bounder{elements: maxElements, locals: allLocals, code: maxCode}
	r := &reader{left: code[header:]}
	for len(r.left) > 0 && r.err == nil {
		id := r.byte()
		s := &reader{left: r.bytes()}
		if r.err != nil || id == 0 {
			continue
		}
		content := b.section(id, s)
		if s.err != nil {
			return nil, fmt.Errorf("the module is not well-formed: section %d: %w", id, s.err)
		}
		out = append(appendNumber(append(out, id), len(content)), content...)
	}
	if r.err != nil {
		return nil, fmt.Errorf("the module is not well-formed: %w", r.err)
	}
	return out, nil
}

// bounder counts down what a module may still have.
type bounder struct{ elements, locals, code int }

// section checks a section and returns it, changed if necessary.
func (b *bounder) section(id byte, r *reader) []byte {
	whole := r.left
	const (
		types, imports, functions, tables, memories, globals, exports = 1, 2, 3, 4, 5, 6, 7
		start, elements, codes, data, dataCount                       = 8, 9, 10, 11, 12
	)
	switch id {
	case types:
		r.each(func() {
			if r.byte() != 0x60 {
				r.fail("it has a type that is not a function type")
			}
			if parameters := r.bytes(); len(parameters) > maxParameters {
				r.fail("a function has %d parameters, and %d are allowed", len(parameters), maxParameters)
			}
			if results := r.bytes(); len(results) > maxResults {
				r.fail("a function has %d results, and %d are allowed", len(results), maxResults)
			}
		})
	case imports:
		r.each(func() {
			r.bytes()
			r.bytes()
			if r.byte() != 0 {
				r.fail("it imports something other than a function")
			}
			r.number()
		})
	case exports:
		r.each(func() {
			r.bytes()
			r.byte()
			r.number()
		})
	case functions, memories, globals:
		r.count(maxEntries)
	case tables:
		return b.tables(r)
	case elements:
		r.each(func() { b.element(r) })
	case codes:
		r.each(func() { b.function(r) })
	case data:
		r.each(func() {
			switch r.number() {
			case 0:
				r.expression()
			case 2:
				r.number()
				r.expression()
			}
			r.bytes()
		})
	case start, dataCount: // a number each
	default:
		r.fail("the section is unknown")
	}
	return whole
}

// tables gives each table a limit.
func (b *bounder) tables(r *reader) []byte {
	n := r.count(maxEntries)
	out := appendNumber(nil, n)
	for range n {
		if r.err != nil {
			return nil
		}
		kind, flag := r.byte(), r.byte()
		if kind != 0x70 && kind != 0x6f || flag > 1 {
			r.fail("it has a table of an unsupported kind")
		}
		least, most := r.number(), maxElements
		if flag == 1 {
			most = min(most, r.number())
		}
		if b.elements -= least; b.elements < 0 {
			r.fail("its tables have more than %d elements", maxElements)
		}
		out = appendNumber(append(out, kind, 1), least)
		out = appendNumber(out, max(least, min(most, maxElements/n)))
	}
	return out
}

// element checks the initial elements of a table. The kind says which fields precede
// them (a table, an offset, a type) and whether they are functions or expressions.
func (b *bounder) element(r *reader) {
	kind := r.number()
	if kind > 7 {
		r.fail("it has elements of an unsupported kind")
	}
	passive, explicit, expressions := kind&1 != 0, kind&2 != 0, kind&4 != 0
	if !passive {
		if explicit {
			r.number()
		}
		r.expression()
	}
	if passive || explicit {
		r.byte()
	}
	n := r.count(maxElements)
	if b.elements -= n; b.elements < 0 {
		r.fail("its tables have more than %d elements", maxElements)
	}
	for range n {
		if expressions {
			r.expression()
		} else {
			r.number()
		}
	}
}

// function checks the variables of a function.
func (b *bounder) function(r *reader) {
	body := &reader{left: r.bytes()}
	if b.code -= len(body.left); b.code < 0 {
		body.fail("its functions have more than %d MiB", maxCode>>20)
	}
	sum := 0
	for range body.count(maxLocals) {
		if sum += body.number(); sum > maxLocals {
			body.fail("a function has more than %d variables", maxLocals)
			break
		}
		body.byte()
	}
	if b.locals -= sum; b.locals < 0 {
		body.fail("its functions have more than %d variables", allLocals)
	}
	if body.err != nil {
		r.err = body.err
	}
}

// reader reads the parts of a module. After an error it reads no more.
type reader struct {
	left []byte
	err  error
}

var errCut = errors.New("it is cut off")

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.left = nil
}

func (r *reader) take(n int) []byte {
	if n > len(r.left) {
		r.fail("%w", errCut)
		return nil
	}
	taken := r.left[:n]
	r.left = r.left[n:]
	return taken
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// number reads an unsigned 32-bit number in LEB128.
func (r *reader) number() int {
	n := uint64(0)
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		if n |= uint64(b&0x7f) << shift; b < 0x80 {
			if n >= 1<<32 {
				break
			}
			return int(n)
		}
	}
	r.fail("a number is too large")
	return 0
}

// count reads how many entries follow: at most most, of at least one byte each.
func (r *reader) count(most int) int {
	n := r.number()
	switch {
	case n > most:
		r.fail("it counts %d entries, and %d are allowed", n, most)
	case n > len(r.left):
		r.fail("%w", errCut)
	default:
		return n
	}
	return 0
}

// each calls f for every entry of a section.
func (r *reader) each(f func()) {
	for range r.count(maxEntries) {
		if f(); r.err != nil {
			return
		}
	}
}

// bytes reads a length and so many bytes.
func (r *reader) bytes() []byte { return r.take(r.number()) }

// expression reads over a constant expression.
func (r *reader) expression() {
	for r.err == nil {
		switch op := r.byte(); op {
		case 0x0b: // end
			return
		case 0x41, 0x42, 0x23, 0xd0, 0xd2: // i32.const, i64.const, global.get, ref.null, ref.func
			for r.err == nil && r.byte() >= 0x80 {
			}
		case 0x43: // f32.const
			r.take(4)
		case 0x44: // f64.const
			r.take(8)
		case 0xfd: // v128.const
			r.number()
			r.take(16)
		case 0x6a, 0x6b, 0x6c, 0x7c, 0x7d, 0x7e: // sums and products
		default:
			r.fail("a constant has the instruction %#x", op)
		}
	}
}

// appendNumber writes a number in LEB128.
func appendNumber(to []byte, n int) []byte {
	for ; n >= 0x80; n >>= 7 {
		to = append(to, byte(n)|0x80)
	}
	return append(to, byte(n))
}
