# SPDX-License-Identifier: BSD-3-Clause
# The rules of style that can be seen line by line; used by check_style.
#
# A function is what stands between a brace alone in column 1 and the next
# closing brace in column 1; clang-format sees to it that this is so.

function complain(line, text) {
    printf "%s:%d: %s\n", file, line, text
    bad++
}

# Is there an exception for `what`? One with a number must be exact.
function excused(what, number, line) {
    if (!(what in allowed))
        return 0
    used[what] = 1
    if (number > allowed[what])
        return 0
    if (number < allowed[what])
        complain(line, "now " number ": lower its number in exceptions.txt")
    return 1
}

function is_library() {
    return file ~ /^(src|mpi_backend|ofi_backend)\//
}

# Names reach as far as their prefix says.
function check_name(head, name, line) {
    if (!is_library() || excused("names " file ":" name, 0, line))
        return
    if (head ~ /(^|[ \t])static[ \t]/) {
        if (file ~ /\.c$/ && name ~ /^amg_/)
            complain(line, name "() is static, and so has no amg_ in front")
    } else if (name !~ /^(amg|hg|HG|na|NA|amalgam|margo|__margo|ABT)_/)
        complain(line, name "() is not static, and has no amg_ in front")
}

function end_file() {
    if (file == "")
        return
    if (lines > 700 && !excused("file " file, lines, lines))
        complain(lines, lines " lines; 700 are the limit of a file")
    if (is_library())
        unit_lines[substr(file, 1, length(file) - 2)] += lines
}

# A .c file and its header are a unit; one below 80 lines is rarely one thing.
function check_units(    unit) {
    for (unit in unit_lines) {
        file = unit
        if (unit_lines[unit] < 80 && !excused("short " unit, 0, 1))
            complain(1, "only " unit_lines[unit] " lines with its header: " \
                        "merge it, or add its reason to .ci/exceptions.txt")
    }
}

function begin_file() {
    end_file()
    file = FILENAME
    lines = 0
    head = ""
    in_comment = 0
    in_function = 0
    macro = ""
    if ($0 != "/* SPDX-License-Identifier: BSD-3-Clause */")
        complain(1, "no licence line")
}

# A macro body with goto or return hides a jump.
function check_macro(code) {
    if (macro == "" && code ~ /^[ \t]*#[ \t]*define[ \t]/) {
        macro = code
        sub(/^[ \t]*#[ \t]*define[ \t]+/, "", macro)
        sub(/[^A-Za-z0-9_].*/, "", macro)
    }
    if (macro != "" && is_library() &&
        code ~ /(^|[^A-Za-z0-9_])(goto|return)([^A-Za-z0-9_]|$)/ &&
        !excused("macro " file ":" macro, 0, FNR))
        complain(FNR, "the macro " macro " hides a goto or return")
    if ($0 !~ /\\$/)
        macro = ""
}

function check_memory(code) {
    if (!is_library() || file ~ /^src\/base\//)
        return
    if (code ~ /(^|[^A-Za-z0-9_.>])(malloc|calloc|realloc|free|strdup|strndup|posix_memalign|aligned_alloc|asprintf)[ \t]*\(/ &&
        !excused("memory " file, 0, FNR))
        complain(FNR, "heap memory goes through amg_mem_*")
}

BEGIN {
    while ((getline line < ".ci/exceptions.txt") > 0) {
        if (line ~ /^(#|[ \t]*$)/)
            continue
        n = split(line, part, " ")
        has_number = part[1] == "function" || part[1] == "file"
        if (n < (has_number ? 4 : 3))
            complain(0, "exceptions.txt: no reason in: " line)
        allowed[part[1] " " part[2]] = has_number ? part[3] + 0 : 0
    }
}

FNR == 1 { begin_file() }

{
    lines = FNR
    if (length($0) > 80)
        complain(FNR, length($0) " columns; 80 are the limit")
    if (FNR == 2 && $0 !~ /^\/\* ./)
        complain(2, "no purpose comment")
    if ($0 ~ /(TODO|FIXME|(^|[^X])XXX([^X]|$))/)
        complain(FNR, "an open point stands in the README, not here")
    code = code_of($0)
    check_macro(code)
    check_memory(code)
}

# Outside of functions: gather what may be a function's head.
!in_function && code ~ /^\{[ \t]*$/ && head ~ /\)[ \t]*$/ {
    in_function = 1
    start = FNR
    name = name_of(head)
    check_name(head, name, FNR)
    next
}

!in_function {
    if (code ~ /^[ \t]*(#|$)/ || code ~ /[;}][ \t]*$/)
        head = ""
    else
        head = head " " code
    next
}

code ~ /^\}/ {
    in_function = 0
    head = ""
    count = FNR - start + 1
    if (count > 60 &&
        !excused("function " file ":" name, count, start))
        complain(start, name "() has " count " lines; 60 are the limit")
}

END {
    end_file()
    check_units()
    file = ".ci/exceptions.txt"
    for (what in allowed)
        if (!(what in used))
            complain(0, "not needed any more: " what)
    if (bad > 0)
        printf "check_style: %d breaks of style\n", bad
    exit bad > 0
}
