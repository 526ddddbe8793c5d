#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The site of jobs/run docs is made without a complaint, has the pages that a
# reader needs, a search that needs no server, and no dead link: site.sh BUILD
set -u
unset CDPATH

build=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAILED: $*"
    exit 1
}

# The check of links detects a dead page, a dead anchor and a page that nothing
# links to.
mkdir "$work/small"
echo '<a href="b.html#here">b</a> <a href="#top">top</a><p id="top">' \
    >"$work/small/index.html"
echo '<h1 id="here">' >"$work/small/b.html"
"$here/links.py" "$work/small" >"$work/said" || fail "$(cat "$work/said")"
echo '<a href="none.html">none</a> <a href="b.html#there">there</a>' \
    >"$work/small/c.html"
! "$here/links.py" "$work/small" >"$work/said" || fail "dead links are missed"
for line in 'c.html:1: no such file: none.html' \
    'c.html:1: no such anchor: b.html#there' 'c.html: no page links to it'; do
    grep -qxF "$line" "$work/said" || fail "not said: $line: $(cat "$work/said")"
done

command -v mandoc >/dev/null && command -v sphinx-build >/dev/null &&
    [ -d "$build/man/man3" ] &&
    sphinx-build --version >/dev/null 2>&1 &&
    "$(sed -n '1s/^#!//p' "$(command -v sphinx-build)")" \
        -c 'import myst_parser, sphinx_rtd_theme' 2>/dev/null || {
    echo "no mandoc, Sphinx, MyST or theme here, or no manual pages were built"
    exit 77
}
"$here/../../man/site/make" "$build" "$work/site" ||
    fail "man/site/make has complaints"
"$here/links.py" "$work/site" || fail "the site has dead links"
for page in index include/GUIDE manual/functions manual/HG_Forward.3 \
    manual/amalgam.7 jobs/tutorial/hello.c search; do
    [ -s "$work/site/$page.html" ] || fail "there is no page $page"
done
grep -q 'Amalgam lets the ranks of an MPI job call each other' \
    "$work/site/index.html" || fail "README.md is not the front page"
# The search has the stems of words of pages, of manual pages and of programs.
for word in amalgam_quiesc amalgam_hang checkpoint hg_forward; do
    grep -qi "\"\?${word}\"\?:" "$work/site/searchindex.js" ||
        fail "the search does not find $word"
done
# The site is complete: nothing is fetched from elsewhere.
! grep -rlE '<(script|link|img)[^>]* (src|href)="(https?:)?//' \
    --include='*.html' "$work/site" || fail "these pages load from elsewhere"
