# SPDX-License-Identifier: BSD-3-Clause
# Makes a program, in the common part of C11 and C++14, that compiles only if
# the headers declare all facts of a table: awk -f facts.awk facts-X.txt.
#
# A line of a table is KIND | NAME... | REST; a # in column 1 begins a comment.
# In NAME, struct:x is struct x. In place of a type, ? is any.
#
#   headers      FILE...    the program includes them
#   function     NAME... | RETURN TYPE (PARAMETERS)
#   type         NAME... | the type it is an alias of; none: it is declared;
#                          ?: it is declared, and complete
#   field        NAME.FIELD | its type
#   enumerators  NAME... | value of the first; each other is one more
#   value        EXPRESSION | what it equals, without a space: an enumerator, a
#                            macro, or a call of a macro
#   macro        NAME... | how many parameters it takes; none: not looked at
#   c-macro      NAME...    a macro in C, as it needs _Generic
#   any          NAME...    a macro, a function or an enumerator
#
# With -v list=names it lists the names instead; with -v list=arity, the macros
# with the number of their parameters.

function trim(text) {
    gsub(/^[ \t]+|[ \t]+$/, "", text)
    return text
}

# A typedef of `id` for a type that is written as `text`.
function typedef_of(text, id, is_function) {
    if (is_function)
        sub(/\(/, id "(", text)
    else if (!sub(/\(\*\)/, "(*" id ")", text))
        text = text " " id
    return "typedef " text ";"
}

function fail(text) {
    print FILENAME ":" FNR ": " text >"/dev/stderr"
    failed = 1
    exit 1
}

function say(line) {
    if (list == "")
        print line
}

# `what` is the same type as `rest`.
function same(what, rest, is_function) {
    if (rest != "?") {
        say(typedef_of(rest, "fact_" id, is_function))
        say("FACT_SAME(" what ", fact_" id ", \"" name ": " rest "\");")
    } else
        say("typedef " what " *fact_" id ";")
}

function fact(kind, rest,    dot) {
    id++
    if (list == "names" && kind != "value")
        print kind == "field" ? substr(name, 1, index(name, ".") - 1) : name
    if (kind == "function")
        same("FACT_TYPE(" name ")", rest, 1)
    else if (kind == "type" && rest == "")
        say("typedef " name " *fact_" id ";")
    else if (kind == "type" && rest == "?")
        say("enum { fact_" id " = sizeof(" name ") };")
    else if (kind == "type")
        same(name, rest, 0)
    else if (kind == "field") {
        dot = index(name, ".")
        same("FACT_TYPE(((" substr(name, 1, dot - 1) " *)0)->" \
            substr(name, dot + 1) ")", rest, 0)
    } else if (kind == "value")
        say("FACT_TRUE((long long)(" name ") == (long long)(" rest "), \"" \
            name " is " rest "\");")
    else if (kind == "any")
        say("#ifndef " name "\ntypedef FACT_TYPE(" name ") *fact_" id \
            ";\n#endif")
    else if (kind == "macro") {
        say("#ifndef " name "\n#error " name " is no macro\n#endif")
        if (list == "arity" && rest != "")
            print name " " rest
    } else if (kind == "c-macro")
        say("#if !defined(__cplusplus) && !defined(" name ")\n#error " name \
            " is no macro\n#endif")
    else
        fail("no kind called " kind)
}

BEGIN {
    FS = "|"
    say("#include <pthread.h>")
    say("#include <sched.h>")
    say("#include <stdio.h>")
    say("#ifdef __cplusplus")
    say("#include <type_traits>")
    say("#define FACT_TYPE(x) decltype(x)")
    say("#define FACT_SAME(a, b, text) " \
        "static_assert(std::is_same<a, b>::value, text)")
    say("#define FACT_TRUE(x, text) static_assert(x, text)")
    say("#else")
    say("#define FACT_TYPE(x) __typeof__(x)")
    say("#define FACT_SAME(a, b, text) " \
        "_Static_assert(__builtin_types_compatible_p(a, b), text)")
    say("#define FACT_TRUE(x, text) _Static_assert(x, text)")
    say("#endif")
}

/^#/ || /^[ \t]*$/ { next }

{
    kind = trim($1)
    rest = trim($3)
    if (kind == "field" || kind == "value") {
        name = trim($2)
        if (NF != 3 || rest == "")
            fail("a " kind " has a name and what it is")
        if (list == "names" && kind == "value" && name !~ /\(/)
            print name
        fact(kind, rest)
        next
    }
    count = split(trim($2), names, " ")
    if (count == 0 || NF > 3 || ((NF == 3) != (rest != "")))
        fail("a line is KIND | NAME... | REST")
    for (i = 1; i <= count; i++) {
        name = names[i]
        sub(/:/, " ", name)
        if (kind == "headers")
            say("#include <" name ">")
        else if (kind == "enumerators") {
            if (list == "names")
                print name
            say("FACT_TRUE((int)(" name ") == " rest " + " i - 1 ", \"" \
                name " is " rest " + " i - 1 "\");")
        } else
            fact(kind, rest)
    }
}

END { if (failed) exit 1 }
