# SPDX-License-Identifier: BSD-3-Clause
# Compares the table of include/COMPATIBILITY.md with what the headers declare:
#     awk -v table=COMPATIBILITY.md -v has_mpi=yes -v uses=uses.c -v facts=NAMES \
#         -f names.awk DECLARED
# with DECLARED from declared.awk, and NAMES, those of facts-mercury.txt, one in
# a line. Says what does not agree, and writes a C program that uses every name
# of the table.

function complain(text) {
    print text
    bad++
}

function regex_of(pattern) {
    gsub(/\*/, "[A-Za-z0-9_]*", pattern)
    return "^" pattern "$"
}

function trim(text) {
    gsub(/^[ \t]+|[ \t]+$/, "", text)
    return text
}

# The names of a cell, in backquotes.
function names_of(cell, names,    n) {
    n = 0
    while (match(cell, /`[^`]+`/)) {
        names[++n] = substr(cell, RSTART + 1, RLENGTH - 2)
        cell = substr(cell, RSTART + RLENGTH)
    }
    return n
}

# A line of C that fails to compile or to link without the name.
function use(name) {
    count++
    if (kind[name] == "macro")
        print "#ifndef " name "\n#error " name " is no macro\n#endif" >uses
    else if (kind[name] == "function")
        used[count] = name
    else if (kind[name] == "type")
        print "typedef " name " *use_" count ";" >uses
    else if (kind[name] == "variable")
        print "const void *const use_" count " = &" name ";" >uses
    else
        print "enum { use_" count " = (int)(" name ") };" >uses
}

function check_declared(name, header,    other, any) {
    if (name ~ /\*/) {
        for (other in kind)
            if (other ~ regex_of(name) && place[other] == header) {
                has_row[other] = 1
                any = 1
            }
        if (!any)
            complain(where ": " header " declares nothing like " name)
        return
    }
    if (!(name in kind)) {
        complain(where ": no header declares " name)
        return
    }
    if (place[name] != header)
        complain(where ": " name " is in " place[name] ", not " header)
    has_row[name] = 1
    use(name)
}

function check_refused(name,    other) {
    for (other in kind)
        if (other ~ regex_of(name))
            complain(where ": " name " is refused, but " place[other] \
                " declares " other)
}

function check_row(line,    cell, n, i, names, header, status) {
    n = split(line, cell, "|")
    header = trim(cell[3])
    gsub(/`/, "", header)
    status = trim(cell[4])
    if (n != 5 || status !~ /^(done|(differs|refused|ours): .+)$/) {
        complain(where ": the row is not | `NAME`... | HEADER | STATUS |, " \
            "with STATUS done, differs: HOW, refused: WHY, or ours: WHAT")
        return
    }
    if (has_mpi != "yes" && header ~ /^(amalgam|na_mpi)\.h$/)
        return
    n = names_of(cell[2], names)
    for (i = 1; i <= n; i++) {
        if ((names[i], header) in rows)
            complain(where ": " names[i] " has two rows")
        rows[names[i], header] = 1
        if (status ~ /^refused/)
            check_refused(names[i])
        else
            check_declared(names[i], header)
        if (status ~ /^(done|differs)/) {
            is_promised[names[i]] = 1
            if (!(names[i] in is_fact) && header != "na_mpi.h")
                complain(where ": " names[i] " is said to be Mercury's, but " \
                    "facts-mercury.txt does not know it")
        }
    }
}

BEGIN {
    while ((getline line < facts) > 0)
        is_fact[line] = 1
    FS = "\t"
}

{
    kind[$2] = $1
    place[$2] = $3
}

END {
    while ((getline line < table) > 0) {
        where = "include/COMPATIBILITY.md:" ++number
        if (line ~ /^\| `/)
            check_row(line)
    }
    if (count == 0)
        complain(table ": no row that names anything")
    for (name in is_fact)
        if (!(name in is_promised) && has_mpi == "yes")
            complain("facts-mercury.txt has " name ", which has no row in " \
                "include/COMPATIBILITY.md that says done or differs")
    for (name in kind)
        if (kind[name] != "enumerator" && !(name in has_row))
            complain(place[name] " declares " name ", which has no row in " \
                "include/COMPATIBILITY.md; add one")
    print "void (*const functions[])(void) = {" >uses
    for (i in used)
        print "    (void (*)(void))" used[i] "," >uses
    print "};" >uses
    print "int main(void) { return functions[0] == 0; }" >uses
    if (bad == 0)
        print count " names are as include/COMPATIBILITY.md says"
    exit bad > 0
}
