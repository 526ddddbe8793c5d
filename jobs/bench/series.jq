# SPDX-License-Identifier: BSD-3-Clause
# Makes lines of the rows of documents, which are an array of {file, doc}.
#
# A panel has series, and a series has points {x, y, lo, hi, noisy}. If a point
# was measured several times, the median is drawn: our transfers are measured
# once with each control, and MPI's once in each run on the same machine.

def median:
    sort | if length == 0 then null
        elif length % 2 == 1 then .[length / 2 | floor]
        else (.[length / 2 - 1] + .[length / 2]) / 2 end;

def text: if . == null or . == "" then "default" else tostring end;

# Does the word differ between the documents of this array?
def differs(word): map(.doc | word | text) | unique | length > 1;

# Each document with the name of our series, and of the origin of the controls;
# the names tell what differs between the documents. If the number of ranks is an
# axis, documents that differ in nothing else share their lines.
def named($has_ranks_axis):
    differs(.run.transport) as $transport | differs(.machine.host) as $host |
    differs(.versions.amalgam) as $version | differs(.run.nodes) as $nodes |
    (differs(.run.ranks) and ($has_ranks_axis | not)) as $ranks |
    map(. as $d | .doc |
        ([if $host then .machine.host | text else empty end,
            if $version then .versions.amalgam | text else empty end,
            if $nodes then "nodes: \(.run.nodes | text)" else empty end,
            if $ranks then "ranks: \(.run.ranks | text)" else empty end] |
            join(", ")) as $origin |
        $d + {origin: $origin, who: ([.run.transport | text,
            if $origin == "" then empty else $origin end] | join(", "))}) |
    (map(.who) | group_by(.) | map(select(length > 1)[0])) as $alike |
    if $has_ranks_axis then
        map(.who) as $names | map(. as $d | . + {order: ($names | index($d.who))})
    else
        # Names that are still equal get the name of the file.
        to_entries | map(.key as $i | .value |
            if .who as $who | any($alike[]; . == $who)
            then .who += " (\(.file))" | .origin = .who else . end |
            . + {order: $i})
    end;
def named: named(false);

# The documents with rows of the benchmark, and with no others.
def only($bench):
    map(.doc.rows |= map(select(.bench == $bench)) |
        select(.doc.rows | length > 0));

# All rows, with what they need of their documents.
def all_rows:
    [.[] | {who, origin, order} as $d | .doc.rows[] | . + $d] | to_entries |
    map(.value + {number: .key});

def rows_of($bench): only($bench) | named | all_rows;

# Do the rows come from several documents, so that each gets few lines?
def are_several: map(.order) | unique | length > 1;

# The line through the rows of this array.
def line($name; $kind; x; y; lo; hi):
    {name: $name, kind: $kind, points: (map(select((x | type) == "number" and
        (y | type) == "number" and y > 0)) | group_by(x) | map({
            x: (.[0] | x), y: (map(y) | median), lo: (map(lo | numbers) | median),
            hi: (map(hi | numbers) | median),
            noisy: any(.[]; .noisy == true)}))};

def lines(key; name; $kind; x; y; lo; hi):
    group_by(key) | sort_by(map(.number) | min) |
    map((.[0] | name) as $name |
        line($name; $kind; x; y; lo; hi));

# Lines of our values and of the controls: `more` tells lines of one document
# apart, $scale converts to the unit of the axis.
def ours(more; x; $scale):
    lines([.order, more]; ["Amalgam " + .who, more | strings | select(. != "")]
        | join(", "); "ours"; x; .value * $scale; null; null);

def control_word:
    {mpi: "MPI", libfabric: "libfabric", round_trip: "MPI round trip",
        process_vm: "process_vm_readv, writev", memcpy: "memcpy",
        win_create: "MPI window of its memory", mpi_request: "MPI request",
        win_dynamic: "dynamic MPI window"}[.] // .;

def controls(more; x; $scale):
    lines([.origin, .against, more];
        [(.against | text | control_word), more | strings | select(. != "")] as $w |
            if .origin == "" then $w else $w + [.origin] end | join(", ");
        "control"; x; .control_value * $scale; null; null);

def panel($title; $xlabel; $ylabel; $xkind; series):
    {title: $title, xlabel: $xlabel, ylabel: $ylabel, xkind: $xkind,
        series: (series | map(select(.points | length > 0)))} |
    select(any(.series[]; .kind != "control"));

def figure($name; $title; panels):
    {name: $name, title: $title, panels: [panels]} |
    select(.panels | length > 0);

def of($bench; $op): map(select(.bench == $bench and .op == $op));

# Times with the band from the median to the 99th percentile.
def times(x):
    lines(.order; "Amalgam " + .who; "ours"; x; .value; .p50_us; .p99_us) +
    lines([.origin, .against]; (.against | text | control_word) as $w |
            if .origin == "" then $w else "\($w), \(.origin)" end;
        "control"; x; .control_value; .control_p50_us; .control_p99_us);

# One place on the x axis for each document.
def places: (map({order, who}) | unique_by(.order)) as $names |
    map(. as $r | . + {place: ([$names[].order] | index($r.order) + 1)});

def place_names: map({order, who}) | unique_by(.order) |
    to_entries | map({at: (.key + 1), name: .value.who});

def dots($title; $ylabel; ours_word):
    place_names as $names | places |
    panel($title; ""; $ylabel; "names";
        lines(0; ours_word; "ours"; .place; .value; .p50_us; .p99_us) +
        lines(.against; .against | text | control_word; "control"; .place;
            .control_value; .control_p50_us; .control_p99_us)) |
    . + {names: $names};

# What a figure of the benchmark says below its title: what is common to the
# documents, and what is amiss with them.
def note($bench):
    map(select(any(.doc.rows[]; .bench == $bench) or (.doc.complete != true and
        (.doc.run.bench == "all" or .doc.run.bench == $bench)))) |
    def common(word): map(.doc | word | strings, (numbers | tostring)) | unique |
        if length == 1 and .[0] != "" then .[0] else empty end;
    ([common(.machine.host), common(.machine.cpu),
        (common(.machine.cores) | "\(.) cores"),
        (common(.versions.amalgam) | "Amalgam \(.)"),
        (common(.versions.mpi) | sub(" Version:"; "")),
        common(.run.date[0:10])] | join(" · ")) as $common |
    [$common] + [if any(.[]; .doc.run.smoke == true) then
            "a smoke run: the figures say nothing" else empty end] +
    [(map(select(.doc.complete != true)) | select(length > 0) |
        "INCOMPLETE: " + (map(.file + (.doc.why // "" |
            if . == "" then "" else " (\(.))" end)) | join(", ")))] |
    map(select(. != ""));
