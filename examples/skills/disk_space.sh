#!/bin/sh
# The arguments come as JSON on standard input; this program has none and does not
# look. Its one JSON value goes to standard output, and what is wrong to standard
# error, with a status other than 0.
set -eu
df -P -k | awk '
	function quoted(s) {
		gsub(/\\/, "\\\\", s); gsub(/"/, "\\\"", s); gsub(/[[:cntrl:]]/, " ", s)
		return "\"" s "\""
	}
	NR > 1 && NF >= 6 {
		path = $6
		for (i = 7; i <= NF; i++) path = path " " $i
		printf "%s{\"path\":%s,\"size_kb\":%.0f,\"used_kb\":%.0f,\"free_kb\":%.0f,\"used\":%s}", (n++ ? "," : "["), quoted(path), $2, $3, $4, quoted($5)
	}
	END { print (n ? "]" : "[]") }'
