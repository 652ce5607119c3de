#!/bin/sh
# timeline.sh [FILE...]: sorts lines "2026-11-20T10:32 event" by time, removes
# repeated ones and prints a table with the minutes since the first.
set -eu
grep -hE '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}' -- "$@" | sort -u | awk '
	# minutes of a time since the year 0, by the rules of the calendar of today
	function minutes(t,   y, m, d) {
		y = substr(t, 1, 4) + 0; m = substr(t, 6, 2) + 0; d = substr(t, 9, 2) + 0
		if (m < 3) { y--; m += 12 }
		return (365 * y + int(y / 4) - int(y / 100) + int(y / 400) + int((153 * m - 457) / 5) + d) * 1440 + substr(t, 12, 2) * 60 + substr(t, 15, 2)
	}
	BEGIN { print "| time | minutes | event | source |\n|---|---|---|---|" }
	{
		time = $1
		event = substr($0, length($1) + 2)
		gsub(/\|/, "\\|", event)
		if (NR == 1) first = minutes(time)
		printf "| %s | %d | %s | |\n", time, minutes(time) - first, event
	}'
