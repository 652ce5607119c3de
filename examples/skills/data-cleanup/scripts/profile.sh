#!/bin/sh
# profile.sh FILE [SEPARATOR]: what is in the columns of a table with a header.
# The separator is a comma by default. Quoted fields may hold it, but no line
# breaks.
set -eu
file=$1
awk -v separator="${2:-,}" '
	function fields(line,   n, c, i, quoted, field) {
		n = 0; field = ""; quoted = 0
		for (i = 1; i <= length(line); i++) {
			c = substr(line, i, 1)
			if (quoted && c == "\"" && substr(line, i + 1, 1) == "\"") { field = field c; i++ }
			else if (c == "\"") quoted = !quoted
			else if (c == separator && !quoted) { cell[++n] = field; field = "" }
			else field = field c
		}
		cell[++n] = field
		return n
	}
	function shape(s) { gsub(/[0-9]/, "9", s); gsub(/[A-Za-z]/, "a", s); return substr(s, 1, 30) }
	{ sub(/\r$/, "") }
	NR == 1 { sub(/^\357\273\277/, ""); columns = fields($0); for (i = 1; i <= columns; i++) name[i] = cell[i]; next }
	{
		rows++
		if (seen[$0]++) duplicates++
		n = fields($0)
		if (n != columns) { odd++; if (oddest == "") oddest = NR }
		for (i = 1; i <= columns; i++) {
			v = i <= n ? cell[i] : ""
			if (v ~ /^[ \t]*$/) { empty[i]++; continue }
			if (v ~ /^[ \t]|[ \t]$/) blanks[i]++
			if (!((i, v) in value)) { value[i, v] = 1; different[i]++ }
			l = length(v)
			if (!(i in least) || l < least[i]) least[i] = l
			if (l > most[i]) most[i] = l
			s = shape(v)
			if (!((i, s) in shapes)) { shapes[i, s] = 1; if (++kinds[i] <= 5) list[i] = list[i] (list[i] == "" ? "" : "  ") s }
		}
	}
	END {
		printf "%d rows, %d columns, %d exact duplicates\n", rows, columns, duplicates
		if (odd) printf "%d rows have another number of fields, the first is line %d\n", odd, oddest
		for (i = 1; i <= columns; i++)
			printf "\n%s\n  empty %d, different %d, length %d-%d, blanks at the ends %d\n  %d shapes: %s%s\n", name[i], empty[i], different[i], least[i], most[i], blanks[i], kinds[i], list[i], (kinds[i] > 5 ? "  ..." : "")
	}' "$file"
