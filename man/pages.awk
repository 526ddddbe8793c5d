# SPDX-License-Identifier: BSD-3-Clause
# Makes a manual page of a text written by hand and of tables of other files:
#     awk -v root=SOURCES -v date=DATE -v version=VERSION -f pages.awk NAME.SECTION.in
#
# Copies mdoc(7), and puts in place of
#
#   .Dd, .Os             date and version
#   .TABLE FILE N        the N-th table of a Markdown file, as a list
#   .CODE FILE N         the N-th block of C of a Markdown file
#   .VARIABLES           the table of src/base/env.c

function fail(text) {
    print FILENAME ":" FNR ": " text >"/dev/stderr"
    failed = 1
    exit 1
}

# Markdown as text of a page: `word` is bold, [text](link) is its text. Each
# sentence begins a line.
function text_of(text,    part, n, i) {
    gsub(/\\/, "\\e", text)
    while (match(text, /\[[^]]*\]\([^)]*\)/)) {
        i = substr(text, RSTART + 1, RLENGTH - 1)
        sub(/\].*/, "", i)
        text = substr(text, 1, RSTART - 1) i substr(text, RSTART + RLENGTH)
    }
    n = split(text, part, "`")
    text = part[1]
    for (i = 2; i <= n; i++)
        text = text (i % 2 ? "\\fR" : "\\fB") part[i]
    gsub(/^[ \t]+|[ \t]+$/, "", text)
    gsub(/\. /, ".\n", text)
    return text == "" ? "" : "\\&" text
}

# A row: its first cell is the item, the other cells describe the item; if there
# are several other cells, each gets the title of its column.
function table_row(line, titles,    cell, n, i) {
    n = split(line, cell, "|") - 1
    print ".It " text_of(cell[2])
    for (i = 3; i <= n; i++) {
        if (n > 3)
            print (i > 3 ? ".Pp\n" : "") ".Em " text_of(titles[i]) " :"
        print text_of(cell[i])
    }
}

function table(file, number,    line, titles, count, is_table, found) {
    while ((getline line < (root "/" file)) > 0) {
        if (line !~ /^\|/)
            is_table = 0
        else if (!is_table) {
            is_table = 1
            count++
            split(line, titles, "|")
            if (count == number)
                print ".Bl -tag -width Ds"
        } else if (count == number && line !~ /^\|---/) {
            table_row(line, titles)
            found++
        }
    }
    close(root "/" file)
    if (!found)
        fail("no table " number " in " file)
    print ".El"
}

function code(file, number,    line, count, is_code, found) {
    print ".Bd -literal"
    while ((getline line < (root "/" file)) > 0) {
        if (line ~ /^```c$/)
            is_code = ++count == number
        else if (line ~ /^```/)
            is_code = 0
        else if (is_code) {
            gsub(/\\/, "\\e", line)
            print (line ~ /^[.']/ ? "\\&" : "") line
            found = 1
        }
    }
    close(root "/" file)
    if (!found)
        fail("no block of C " number " in " file)
    print ".Ed"
}

# One row of env_vars: {"NAME", "unit", default, min, max, "text"}.
function variable(row,    part, number) {
    gsub(/"[ \t]+"/, "", row)
    split(row, part, "\"")
    split(part[5], number, /, */)
    print ".It Ev " part[2]
    print text_of(part[6])
    if (number[4] != 0)
        print "(" (part[4] == "" ? "" : part[4] ": ") "default " number[2] \
            ", from " number[3] " to " number[4] ")"
}

function variables(    file, line, row, is_table, found) {
    file = root "/src/base/env.c"
    print ".Bl -tag -width Ds"
    while ((getline line < file) > 0) {
        if (line ~ /env_vars\[.*= *\{$/)
            is_table = 1
        else if (line ~ /^};/)
            is_table = 0
        else if (is_table) {
            row = row " " line
            if (line ~ /},$/) {
                variable(row)
                row = ""
                found++
            }
        }
    }
    close(file)
    if (!found)
        fail("no variables in " file)
    print ".El"
}

/^\.Dd$/ { print ".Dd " date; next }
/^\.Os$/ { print ".Os Amalgam " version; next }
/^\.TABLE / { table($2, $3); next }
/^\.CODE / { code($2, $3); next }
/^\.VARIABLES$/ { variables(); next }
{ print }

END { if (failed) exit 1 }
