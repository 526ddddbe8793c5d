# SPDX-License-Identifier: BSD-3-Clause
# Doxygen's view of a header: its input filter, awk -f filter.awk HEADER.
#
# Turns the six tags of our docstrings (include/PHRASES.md) into Doxygen's
# commands. Copies the docstring of a family of functions, which stands before the
# first function of the family, before each function of the family.

# Returns the text with all characters of Doxygen's commands escaped; a word in
# backquotes is emphasised.
function plain(text,    part, n, i) {
    gsub(/[\\@<>&#%"]/, "\\\\&", text)
    gsub(/--/, "\\--", text)
    n = split(text, part, "`")
    text = part[1]
    for (i = 2; i <= n; i++)
        text = text (i % 2 ? "</em>" : "<em>") part[i]
    return text
}

function put(line) {
    doc = doc " * " line "\n"
}

# A line of the tag Errors: a code and its reason, or a sentence. A line that is
# indented further continues the line before.
function error_line(text) {
    if (text !~ /^ / && (match(text, /^(HG|NA|ABT)_[A-Z0-9_]+( +[^ (]|$)/) ||
        match(text, /^(-1 |0  |NULL  )/))) {
        is_sentence = 0
        match(text, /^[^ ]+/)
        put("@retval " substr(text, 1, RLENGTH) plain(substr(text, RLENGTH + 1)))
    } else if (text ~ /^ / || is_sentence)
        put(plain(text))
    else {
        is_sentence = 1
        put("@par Errors")
        put(plain(text))
    }
}

function doc_line(text,    name) {
    if (text ~ /^@param /) {
        tag = "param"
        match(text, /  +\[[a-z,]+\]/)
        name = substr(text, 8, RSTART - 8)
        put("@param" substr(text, RSTART, RLENGTH) " " name " " \
            plain(substr(text, RSTART + RLENGTH)))
    } else if (text ~ /^@return /) {
        put("@return " plain(substr(text, 9)))
    } else if (match(text, /^(Owns|Errors|Threads|Undefined|Source): +/)) {
        is_sentence = 0
        tag = substr(text, 1, index(text, ":") - 1)
        text = substr(text, RLENGTH + 1)
        if (tag == "Errors")
            error_line(text)
        else
            put("@par " tag "\n * " plain(text))
    } else if (tag == "Errors")
        error_line(substr(text, 12))
    else
        put(plain(text))
}

/^\/\*\*$/ {
    in_doc = 1
    tag = ""
    doc = "/**\n"
    next
}

in_doc && /^ \*\/$/ {
    in_doc = 0
    doc = doc " */"
    is_first = 1
    print doc
    next
}

in_doc {
    text = $0
    sub(/^ \* ?/, "", text)
    doc_line(text)
    next
}

# The family ends with an empty line, or with anything but a declaration.
/^[ \t]*$/ || /^[#\/{}]/ { doc = "" }

doc != "" && /^[A-Za-z]/ && !is_first { print doc }

{
    if (/;$/)
        is_first = 0
    print
}
