# SPDX-License-Identifier: BSD-3-Clause
# Puts the section EXAMPLES into pages of functions:
# awk -v pages=FOLDER -f examples.awk NAME.c..., each for the page NAME.3, or for
# the pages that a last line of its first comment names ("Pages: NAME NAME").
#
# The first comment of NAME.c is the text before the example; the example follows.

function insert(name,    page, text, line) {
    page = pages "/" name ".3"
    while ((getline line < page) > 0) {
        if (line == ".Sh ERRORS")
            text = text ".Sh EXAMPLES\n" sentence "\n" \
                ".Bd -literal -offset indent\n" code ".Ed\n"
        text = text line "\n"
    }
    close(page)
    printf "%s", text > page
    close(page)
}

function insert_all(    part, n, i) {
    n = split(names, part, " ")
    for (i = 1; i <= n; i++)
        insert(part[i])
}

FNR == 1 {
    insert_all()
    names = FILENAME
    gsub(/.*\/|\.c$/, "", names)
    sentence = code = ""
    in_code = 0
}

/^\/\* SPDX/ { next }

!in_code && sentence == "" && /^\/\*/ { in_sentence = 1 }

in_sentence {
    line = $0
    in_sentence = line !~ /\*\/$/
    gsub(/^(\/\*| \*) ?| ?\*\/$/, "", line)
    if (sub(/^Pages: /, "", line)) {
        names = line
        next
    }
    if (line == "")
        next
    gsub(/\. /, ".\n", line)
    sentence = sentence (sentence == "" ? "" : "\n") line
    next
}

/^#include/ || (!in_code && /^$/) { next }

{
    in_code = 1
    gsub(/\\/, "\\e")
    code = code (/^[.']/ ? "\\&" : "") $0 "\n"
}

END { insert_all() }
