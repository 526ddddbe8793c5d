#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The page of a trace, in a browser, shows ranks, threads, calls, arrows, marks.
#   trace_page.sh TOOL PROGRAM mpiexec...
set -eu
tool=$1 program=$2
shift 2
browser=$(command -v chromium || command -v chromium-browser) || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export AMALGAM_TRACE=$folder/t
"$@" -n 4 "$program"
"$tool" "$folder/t" --html "$folder/page.html"
# show HASH: writes what the page shows of that part.
show() {
    HOME=$folder "$browser" --headless --no-sandbox --disable-gpu \
        --user-data-dir="$folder/profile" --window-size=1600,900 --dump-dom \
        "file://$folder/page.html$1" 2>"$folder/log" | grep -o '<svg.*</svg>' |
        sed 's/<\(g\|path\|text\|rect\)/\n&/g' >"$folder/shown"
}
# has COUNT PATTERN: the page shows at least so many elements.
has() {
    local count
    count=$(grep -c -e "$2" "$folder/shown" || true)
    [ "$count" -ge "$1" ] || {
        echo "\"$2\" is shown $count times, not $1: $(tail -n 3 "$folder/log")"
        exit 1
    }
}
show ''
for rank in 0 1 2 3; do
    has 1 ">rank $rank: thread "
    has 1 ">rank $rank: calls<"
    has 1 ">rank $rank: bulks<"
done
has 50 '<title>echo: '
has 100 'class="a"'
has 1 'class="m"'
# Nothing of the time after the end of the job.
show '#100000000-100000001'
has 1 '>rank 0: calls<'
! grep -q 'class="a"\|<title>' "$folder/shown"
