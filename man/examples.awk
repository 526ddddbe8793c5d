# SPDX-License-Identifier: BSD-3-Clause
# Puts the section EXAMPLES into pages of functions:
# awk -v pages=FOLDER -f examples.awk NAME.c..., each for the page NAME.3.
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

FNR == 1 {
    if (name != "")
        insert(name)
    name = FILENAME
    gsub(/.*\/|\.c$/, "", name)
    sentence = code = ""
    in_code = 0
}

/^\/\* SPDX/ { next }

!in_code && sentence == "" && /^\/\*/ { in_sentence = 1 }

in_sentence {
    line = $0
    in_sentence = line !~ /\*\/$/
    gsub(/^(\/\*| \*) | ?\*\/$/, "", line)
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

END {
    if (name != "")
        insert(name)
}
