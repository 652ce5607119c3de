package wasm_test

import (
	"bytes"
	"slices"
)

// What follows writes modules by hand: small ones, and such as no compiler makes.

// assemble makes a module of WASI that imports functions of one signature, has a
// memory of so many pages, and runs a body of code.
func assemble(imports []string, pages byte, body ...byte) []byte {
	return module(imports, pages, slices.Concat([]byte{0}, body))
}

// assembleWith makes a module without imports whose body has so many variables.
func assembleWith(variables int, body []byte) []byte {
	return module(nil, 1, slices.Concat([]byte{1}, number(variables), []byte{0x7f}, body))
}

func module(imports []string, pages byte, body []byte) []byte {
	const i32 = 0x7f
	functions := []byte{byte(len(imports))}
	for _, name := range imports {
		functions = slices.Concat(functions, text("wasi_snapshot_preview1"), text(name), []byte{0, 0})
	}
	code := append(body, end)
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, []byte{2, 0x60, 4, i32, i32, i32, i32, 1, i32, 0x60, 0, 0}),
		section(2, functions),
		section(3, []byte{1, 1}),
		section(5, []byte{1, 0, pages}),
		section(7, []byte{2}, text("_start"), []byte{0, byte(len(imports))}, text("memory"), []byte{2, 0}),
		section(10, []byte{1}, number(len(code)), code),
	)
}

func section(id byte, parts ...[]byte) []byte {
	content := slices.Concat(parts...)
	return slices.Concat([]byte{id}, number(len(content)), content)
}

func text(s string) []byte { return append(number(len(s)), s...) }

// number is LEB128, of numbers that are not negative.
func number(n int) (out []byte) {
	for ; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}

// Instructions, of which the code below is made.
const (
	trap, loop, when, end, again, leave = 0x00, 0x03, 0x04, 0x0b, 0x0c, 0x0f
	call, drop, load, store, grow       = 0x10, 0x1a, 0x28, 0x36, 0x40
	push, isZero, equal, nothing        = 0x41, 0x45, 0x46, 0x40
)

// endless does nothing for ever.
func endless() []byte { return assemble(nil, 1, loop, nothing, again, 0, end) }

// hungry takes memory until it gets none, and traps.
func hungry() []byte {
	return assemble(nil, 1, loop, nothing, push, 16, grow, 0, push, 0x7f, equal, when, nothing, trap, end, again, 0, end)
}

// copier writes what it reads, 64 KiB at a time.
func copier() []byte {
	const vector, length, count = 0, 4, 8
	get := func(at byte) []byte { return []byte{push, at, load, 2, 0} }
	set := func(at byte, value ...byte) []byte {
		return slices.Concat([]byte{push, at}, value, []byte{store, 2, 0})
	}
	transfer := func(function, file byte) []byte {
		return []byte{push, file, push, vector, push, 1, push, count, call, function, drop}
	}
	return assemble([]string{"fd_read", "fd_write"}, 2, slices.Concat(
		[]byte{loop, nothing},
		set(vector, push, 16), set(length, push, 0x80, 0x80, 4), transfer(0, 0),
		get(count), []byte{isZero, when, nothing, leave, end},
		set(length, get(count)...), transfer(1, 1),
		[]byte{again, 0, end},
	)...)
}

// huge is a module with one section that claims more than there is.
func huge(id byte, content ...byte) []byte {
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"), section(id, content))
}

// rampant has a table without a limit, and traps when it cannot make it larger by
// 16 million elements.
func rampant() []byte {
	code := assemble(nil, 1, 0xd0, 0x70, push, 0x80, 0x80, 0x80, 8, 0xfc, 15, 0, push, 0x7f, equal, when, nothing, trap, end)
	table := section(4, []byte{1, 0x70, 0, 1})
	at := bytes.Index(code, section(5, []byte{1, 0, 1}))
	return slices.Insert(code, at, table...)
}

// unknown calls a function that nobody has.
func unknown() []byte { return assemble([]string{"system"}, 1) }

// stranger is a module without _start.
func stranger() []byte { return []byte("\x00asm\x01\x00\x00\x00") }
