# SPDX-License-Identifier: BSD-3-Clause
# Lists what headers declare: awk -v folder=PREFIX/include/ -f declared.awk FILE
# with FILE from `cc -E -dD`. Each line is KIND, NAME, HEADER, with tabs between;
# KIND is macro, function, type, enumerator or variable.

# Prints one name of the current header.
function found(kind, name) {
    if (name != "" && !((kind, name) in seen)) {
        seen[kind, name] = 1
        print kind "\t" name "\t" header
    }
}

# `text` without its attributes, whose parentheses may be nested.
function without_attributes(text,    start, i, depth, ch) {
    gsub(/__extension__|__restrict/, "", text)
    while ((start = match(text, /__attribute__[ \t]*\(/)) > 0) {
        depth = 0
        for (i = start + RLENGTH - 1; i <= length(text); i++) {
            ch = substr(text, i, 1)
            depth += (ch == "(") - (ch == ")")
            if (depth == 0)
                break
        }
        text = substr(text, 1, start - 1) " " substr(text, i + 1)
    }
    return text
}

# `text` without the parts in braces.
function without_braces(text,    i, depth, ch, out) {
    depth = 0
    out = ""
    for (i = 1; i <= length(text); i++) {
        ch = substr(text, i, 1)
        depth += ch == "{"
        if (depth == 0)
            out = out ch
        depth -= ch == "}"
    }
    return out
}

function last_word(text) {
    sub(/\[.*/, "", text)
    sub(/[^A-Za-z0-9_]*$/, "", text)
    sub(/.*[^A-Za-z0-9_]/, "", text)
    return text
}

# The names in the braces of an enumeration.
function enumerators(text,    n, i, part) {
    sub(/^[^{]*\{/, "", text)
    sub(/\}.*/, "", text)
    n = split(text, part, ",")
    for (i = 1; i <= n; i++) {
        sub(/=.*/, "", part[i])
        found("enumerator", last_word(part[i]))
    }
}

# One whole declaration or definition.
function statement(text,    head, is_typedef) {
    text = without_attributes(text)
    gsub(/[ \t\n]+/, " ", text)
    sub(/^ /, "", text)
    if (text ~ /^_Static_assert/ || text ~ /^ ?;?$/)
        return
    is_typedef = sub(/^typedef /, "", text)
    if (text ~ /^enum [^{;(]*\{/ || text ~ /^enum ?\{/)
        enumerators(text)
    if (text ~ /^(struct|union|enum) ?[A-Za-z0-9_]* ?\{/) {
        head = text
        sub(/ ?\{.*/, "", head)
        if (head ~ / /)
            found("type", head)
    }
    text = without_braces(text)
    if (is_typedef && match(text, /\( ?\* ?[A-Za-z0-9_]+ ?\)/))
        found("type", last_word(substr(text, RSTART, RLENGTH)))
    else if (is_typedef)
        found("type", last_word(text))
    else if (text ~ /\(/) {
        sub(/ ?\(.*/, "", text)
        found("function", last_word(text))
    } else if (text ~ /^(extern|static) /)
        found("variable", last_word(text))
}

# Reads a line of code, and passes each complete statement on.
function code(line,    i, ch, head) {
    for (i = 1; i <= length(line); i++) {
        ch = substr(line, i, 1)
        if (ch == "{") {
            head = without_attributes(text)
            if (depth == 0 && head !~ /^[ \t\n]*typedef/ && head ~ /\(/)
                is_body = 1
            depth++
        }
        text = text ch
        if (ch == "}")
            depth--
        if (depth == 0 && (ch == ";" || (ch == "}" && is_body))) {
            statement(text)
            text = ""
            is_body = 0
        }
    }
    text = text "\n"
}

# The name of the include guard.
function guard_of(name) {
    name = toupper(name)
    gsub(/[^A-Z0-9]/, "_", name)
    return name
}

# Origin of the lines that follow.
/^# [0-9]+ "/ {
    file = $3
    gsub(/"/, "", file)
    is_own = index(file, folder) == 1
    if (is_own)
        header = substr(file, length(folder) + 1)
    next
}

!is_own { next }

/^#define / {
    name = $2
    sub(/\(.*/, "", name)
    if (name != guard_of(header))
        macros[name] = header
    next
}

# A private name of a header.
/^#undef / {
    delete macros[$2]
    next
}

/^#/ { next }

{ code($0) }

END {
    for (name in macros) {
        header = macros[name]
        found("macro", name)
    }
}
