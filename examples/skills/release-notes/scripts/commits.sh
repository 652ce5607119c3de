#!/bin/sh
# commits.sh [FROM [TO]]: the commits from a tag (default: the last one) to a
# revision (default: HEAD), by the area before the colon. Merges are left out, and
# so are commits that were reverted, with their reverts.
set -eu
to=${2:-HEAD}
from=${1:-$(git describe --tags --abbrev=0 "$to" 2>/dev/null || true)}
range=$to
[ -z "$from" ] || range=$from..$to
reverted=$(git log --no-merges --format=%B "$range" | sed -n 's/^This reverts commit \([0-9a-f]*\).*/\1/p')
echo "# ${from:-the beginning} to $to"
git log --no-merges --format='%H%x09%h%x09%an%x09%s' "$range" | awk -F '\t' -v reverted="$reverted" '
	BEGIN { n = split(reverted, list, "\n"); for (i = 1; i <= n; i++) gone[list[i]] = 1 }
	($1 in gone) || $4 ~ /^Revert "/ { next }
	{
		area = "other"
		if (match($4, /^[A-Za-z0-9_\/., ()!-]+: /)) area = substr($4, 1, RLENGTH - 2)
		if (!(area in lines)) order[++areas] = area
		lines[area] = lines[area] "- " $2 " " $4 " (" $3 ")\n"
	}
	END { for (i = 1; i <= areas; i++) printf "\n## %s\n%s", order[i], lines[order[i]] }'
