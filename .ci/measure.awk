# SPDX-License-Identifier: BSD-3-Clause
# Counts what measure prints. Its arguments are the C files of the library, the
# same files again, and those of jobs and tests. The first pass finds functions,
# tags and includes; the second one finds the callers of the functions.
#
# A unit is a .c file and the header beside it. One unit depends on another one
# by "include" when it includes its header, and by "call" when it calls a function
# that is defined there. A circle is a set of units each of which depends on all
# others over some path of one kind.

function unit_of(path) {
    sub(/\.[ch]$/, "", path)
    return path
}

function module_of(path) {
    if (path ~ /^src\//)
        return "src"
    sub(/\/.*/, "", path)
    return path
}

# The folder that a file lies in.
function folder_of(path) {
    sub(/\/[^\/]*$/, "", path)
    return path
}

# Counts sentences of comments that begin with a relative Who, What or Where.
# A sentence may begin on one line with the word, or after a full stop.
function count_relative(text,    line) {
    line = text
    sub(/^[ \t*]+/, "", line)
    if ((opened || ended) && line ~ /^(Who|What|Where|Whoever|Whatever)[ ]/ &&
        line !~ /\?/) {
        relative++
        detail(FILENAME ":" FNR ": a sentence begins with a relative " \
               substr(line, 1, 5))
    }
    while (match(line, /[.!] +(Who|What|Where|Whoever|Whatever) /)) {
        line = substr(line, RSTART + 2)
        if (line !~ /^[^.]*\?/) {
            relative++
            detail(FILENAME ":" FNR ": a sentence begins with a relative " \
                   substr(line, 1, 5))
        }
    }
    if (text ~ /[^ \t*]/)
        ended = text ~ /[.:][ \t]*$/
}

# Counts comments that begin with a word that stands for a noun elsewhere.
function count_stand_ins(text,    line) {
    line = tolower(text)
    sub(/^[ \t*]+/, "", line)
    if (opened && line ~ /^(it|they|the same|both|either|neither|those|these|this|that|one|as|such|another|its|their)([ ,.;:]|$)/) {
        stand_ins++
        detail(FILENAME ":" FNR ": a comment begins with a stand-in: " \
               substr(line, 1, 30))
    }
}

# Counts functions of a caller that holds a lock and that do not assert it.
function end_locked() {
    if (name !~ /_locked$/ || FILENAME !~ /\.c$/)
        return
    locked++
    if (!asserts_lock) {
        unasserted++
        detail(FILENAME ":" start ": " name "() has no AMG_ASSERT_HELD")
    }
}

# Keeps the largest number of members of a struct; those of a struct within it
# are one member.
function count_members(code,    text, opens) {
    if (depth_of_struct == 0) {
        if (code !~ /^struct[ \t]+[a-z_0-9]+[ \t]*\{/)
            return
        split(code, part, /[ \t{]+/)
        struct_name = part[2]
        struct_members = 0
    }
    text = code
    opens = gsub(/\{/, "", text)
    depth_of_struct += opens - gsub(/\}/, "", text)
    if (depth_of_struct == 1 && code ~ /;[ \t]*$/)
        struct_members++
    if (FILENAME ~ /^src\/(core\/(context|cq|progress|wakeup)|margo\/(instance|loop))\.h$/ && \
        code ~ /(atomic_[a-z]+|_Atomic\(.*\)) \**[a-z_]+(\[.*\])?;[ \t]*$/)
        progress_atomics++
    if (depth_of_struct == 0 && struct_members > most_members) {
        most_members = struct_members
        largest_struct = FILENAME ": struct " struct_name
    }
}

# Notes the files that make progress or block a thread. What base offers, and
# the helpers of programs in util, do so for their callers.
function note_agent(code) {
    if (FILENAME ~ /^src\/(base|util)\//)
        return
    if (code ~ /(amg_progress_(own|wait|poll)|HG_Progress)\(/ &&
        !(FILENAME ~ /^src\/core\/progress\.[ch]$/))
        agent[FILENAME] = 1
    if (code ~ /(^|[^a-z_0-9])(amg_futex_wait|amg_futex_wait_until|amg_clock_sleep_ns|pthread_cond_wait|pthread_cond_timedwait|nanosleep|ppoll|epoll_wait)\(/ &&
        code !~ /, 0\)/)
        blocker[FILENAME] = 1
}

# Counts the files where the table of src/README.md and the code differ.
function count_unlisted(    line, part, file, has, wrong, says) {
    while ((getline line < "src/README.md") > 0)
        if (line ~ /^\| `[a-z_0-9\/]+\.c` \| (yes|-) \| (yes|-) \|/) {
            split(line, part, /[`|]/)
            file = part[3]
            file = (file ~ /^(mpi|ofi)_backend\//) ? file : "src/" file
            says[file] = (line ~ /^[^|]*\|[^|]*\| yes/ ? "p" : "-") \
                         (line ~ /^[^|]*\|[^|]*\|[^|]*\| yes/ ? "b" : "-")
        }
    for (file in agent)
        has[file] = 1
    for (file in blocker)
        has[file] = 1
    for (file in says)
        has[file] = 1
    for (file in has) {
        line = (file in agent ? "p" : "-") (file in blocker ? "b" : "-")
        if (says[file] != line) {
            wrong++
            detail(file ": the table of progress in src/README.md says " \
                   (says[file] == "" ? "nothing" : says[file]) ", the code " \
                   line)
        }
    }
    return wrong + 0
}

function length_of_set(set,    key, n) {
    for (key in set)
        n++
    return n + 0
}

# The number of parameters in the head of a function.
function parameters(head,    i, c, depth, count, seen) {
    sub(/^[^(]*\(/, "", head)
    count = 1
    for (i = 1; i <= length(head); i++) {
        c = substr(head, i, 1)
        if (c == "(")
            depth++
        else if (c == ")" && depth-- == 0)
            break
        else if (c == "," && depth == 0)
            count++
        seen = seen c
    }
    return seen ~ /^[ \t]*(void)?[ \t]*$/ ? 0 : count
}

function detail(text) {
    if (details)
        print text
}

function begin_function() {
    in_function = 1
    start = FNR
    functions++
    asserts_lock = 0
    name = name_of(head)
    if (parameters(head) >= 7 && !(name in is_public)) {
        wide++
        detail(FILENAME ":" FNR ": " name "() has " parameters(head) \
               " parameters")
    }
    if (FILENAME ~ /\.c$/ && head !~ /(^|[ \t])static[ \t]/ && name ~ /^amg_/)
        home[name] = unit_of(FILENAME)
}

function tag(code,    what) {
    if (code !~ /^(struct|union|enum)[ \t]+[a-z_0-9]+[ \t]*\{/)
        return
    split(code, part, /[ \t{]+/)
    what = part[2]
    if (what in tag_at) {
        twice++
        detail(FILENAME ":" FNR ": " what " is defined in " tag_at[what] " too")
    } else
        tag_at[what] = FILENAME
}

# An include of a header of the library, as written or in the same folder.
function include(text,    part, to) {
    split(text, part, "\"")
    to = part[2]
    if (("src/" to) in known)
        to = "src/" to
    else if ((folder_of(FILENAME) "/" to) in known)
        to = folder_of(FILENAME) "/" to
    else if (!(to in known))
        return
    if (unit_of(to) != unit_of(FILENAME))
        edge["include", unit_of(FILENAME), unit_of(to)] = 1
}

# Tarjan's strongly connected components.
function visit(u,    list, n, i, v, size) {
    number[u] = low[u] = ++visited
    stack[++depth] = u
    on_stack[u] = 1
    n = split(next_of[u], list, " ")
    for (i = 1; i <= n; i++) {
        v = list[i]
        if (!(v in number)) {
            visit(v)
            if (low[v] < low[u])
                low[u] = low[v]
        } else if (on_stack[v] && number[v] < low[u])
            low[u] = number[v]
    }
    if (low[u] != number[u])
        return
    circles++
    do {
        v = stack[depth--]
        on_stack[v] = 0
        members[circles] = members[circles] " " v
        size++
    } while (v != u)
    size_of[circles] = size
}

# Finds the circles of a kind of edges: their units are in `members`. Sets `real`
# to their number, and `largest`.
function find_circles(kind, note,    pair, part, u, c, unit) {
    split("", next_of)
    split("", number)
    split("", members)
    visited = circles = real = largest = 0
    for (pair in edge) {
        split(pair, part, SUBSEP)
        if (part[1] != kind)
            continue
        next_of[part[2]] = next_of[part[2]] " " part[3]
        unit[part[2]] = unit[part[3]] = 1
    }
    for (u in unit)
        if (!(u in number))
            visit(u)
    for (c = 1; c <= circles; c++)
        if (size_of[c] > 1) {
            real++
            if (size_of[c] > largest)
                largest = size_of[c]
            detail("circle of " size_of[c] ":" members[c] note)
        }
}

# Arrows between units of one folder that lead upward, where the units of each
# circle stand in the order that the heuristic of Eades, Lin and Smyth finds.
function upward_in(c,    list, n, i, j, out, into, best, place, left, first, last, k, up) {
    n = split(members[c], list, " ")
    for (i = 1; i <= n; i++) {
        left[list[i]] = 1
        for (j = 1; j <= n; j++)
            if (("include", list[i], list[j]) in edge) {
                out[list[i]]++
                into[list[j]]++
            }
    }
    first = 1
    last = n
    for (k = 1; k <= n; k++) {
        best = ""
        for (i = 1; i <= n; i++)
            if (list[i] in left && (best == "" ||
                out[list[i]] - into[list[i]] > out[best] - into[best]))
                best = list[i]
        place[best] = first++
        delete left[best]
        for (i = 1; i <= n; i++) {
            if (("include", best, list[i]) in edge)
                into[list[i]]--
            if (("include", list[i], best) in edge)
                out[list[i]]--
        }
    }
    for (i = 1; i <= n; i++)
        for (j = 1; j <= n; j++)
            if ((("include", list[i], list[j]) in edge) &&
                place[list[i]] > place[list[j]] &&
                folder_of(list[i]) == folder_of(list[j])) {
                up++
                detail("upward: " list[i] " -> " list[j])
            }
    return up + 0
}

# Reads the names of functions that a public header declares: their parameters
# are fixed.
function read_public(path,    line) {
    while ((getline line < path) > 0)
        while (match(line, /[A-Za-z_0-9]+\(/)) {
            is_public[substr(line, RSTART, RLENGTH - 1)] = 1
            line = substr(line, RSTART + RLENGTH)
        }
    close(path)
}

BEGIN {
    count = split(headers, header, " ")
    for (i = 1; i <= count; i++)
        read_public(header[i])
    for (i = 1; i < ARGC; i++)
        if (ARGV[i] ~ /\.[ch]$/)
            known[ARGV[i]] = 1
}

FNR == 1 {
    pass[FILENAME] += FILENAME ~ /^(src\/fortran|tests|jobs)\// ? 2 : 1
    in_comment = in_function = depth_of_struct = 0
    head = ""
    ended = 1
    if (pass[FILENAME] == 1)
        files++
}

pass[FILENAME] == 1 {
    lines++
    length_of[FILENAME] = FNR
    module_lines[module_of(FILENAME)]++
    code = code_of($0)
    if (code ~ /[^ \t]/)
        code_lines++
    count_relative(comment)
    count_stand_ins(comment)
    opened = 0
    count_members(code)
    note_agent(code)
    if (code ~ /AMG_ASSERT_HELD(_BIAS)?\(/)
        asserts_lock = 1
    if (code ~ /AMG_(ASSERT|CONTRACT|GIVEN)[A-Z_]*[ \t]*\(/)
        asserts[module_of(FILENAME)]++
    tag(code)
    if ($0 ~ /^[ \t]*#[ \t]*include[ \t]*"/)
        include($0)
    if (!in_function && code ~ /^\{[ \t]*$/ && head ~ /\)[ \t]*$/)
        begin_function()
    else if (!in_function) {
        if (code ~ /^[ \t]*(#|$)/ || code ~ /[;}][ \t]*$/)
            head = ""
        else
            head = head " " code
    } else if (code ~ /^\}/) {
        in_function = 0
        head = ""
        end_locked()
        if (FNR - start + 1 > 60)
            long_functions++
    }
    next
}

# The second pass: the calls of global functions. What stands outside of braces
# and macros declares or defines.
FNR == 1 { braces = in_macro = 0 }

{
    code = code_of($0)
    in_macro = in_macro || code ~ /^[ \t]*#[ \t]*define/
    before = braces
    text = code
    braces += gsub(/\{/, "", text) - gsub(/\}/, "", text)
    is_code = in_macro || before > 0 || braces > 0
    in_macro = in_macro && $0 ~ /\\$/
    while (is_code && match(code, /amg_[a-z0-9_]+\(/)) {
        name = substr(code, RSTART, RLENGTH - 1)
        code = substr(code, RSTART + RLENGTH)
        if ((name in home) && home[name] != unit_of(FILENAME) &&
            !((name, FILENAME) in uses)) {
            uses[name, FILENAME] = 1
            users[name]++
            user[name] = FILENAME
            if (FILENAME !~ /^(src\/fortran|tests|jobs)\//)
                edge["call", unit_of(FILENAME), home[name]] = 1
        }
    }
}

END {
    for (file in length_of) {
        sorted[++n] = length_of[file]
        if (length_of[file] < 80) {
            small++
            detail(file ": " length_of[file] " lines")
        }
    }
    for (i = 2; i <= n; i++) {
        value = sorted[i]
        for (j = i - 1; j > 0 && sorted[j] > value; j--)
            sorted[j + 1] = sorted[j]
        sorted[j + 1] = value
    }
    for (name in home) {
        globals++
        if (users[name] == 1) {
            single++
            detail(home[name] ".c: " name "() is used by " user[name] " alone")
        }
    }
    print "lines", lines
    print "code_lines", code_lines
    print "files", files
    print "median_length", sorted[int((n + 1) / 2)]
    print "files_below_80", small + 0
    print "long_functions", long_functions + 0
    print "functions", functions
    print "single_caller", single + 0
    print "globals", globals
    find_circles("include", "")
    for (c = 1; c <= circles; c++)
        if (size_of[c] > 1)
            upward += upward_in(c)
    print "circles", real
    print "largest_circle", largest
    print "upward", upward + 0
    find_circles("call", ", by calls")
    print "call_circles", real
    print "largest_call_circle", largest
    for (m in module_lines)
        printf "asserts_%s %.1f\n", m, 1000 * asserts[m] / module_lines[m]
    print "wide_functions", wide + 0
    print "relative_sentences", relative + 0
    print "double_tags", twice + 0
    print "stand_ins", stand_ins + 0
    print "locked", locked + 0
    print "unasserted_locked", unasserted + 0
    print "most_members", most_members + 0
    detail("most members: " largest_struct)
    print "progress_atomics", progress_atomics + 0
    print "agents", length_of_set(agent)
    print "blockers", length_of_set(blocker)
    for (file in agent)
        detail(file ": makes progress")
    for (file in blocker)
        detail(file ": blocks a thread")
    print "unlisted_progress", count_unlisted()
}
