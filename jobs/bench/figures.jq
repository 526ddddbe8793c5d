# SPDX-License-Identifier: BSD-3-Clause
# Makes figures of documents: an array of {file, doc} becomes an array of
# {name, title, note, panels}, as gnuplot.jq draws them.
#
# A panel has series, and a series points {x, y, lo, hi, noisy}. Of several
# measurements of one point the median is drawn: our transfers are measured
# once beside each control, and MPI's once in each run on the same machine.

def median:
    sort | if length == 0 then null
        elif length % 2 == 1 then .[length / 2 | floor]
        else (.[length / 2 - 1] + .[length / 2]) / 2 end;

def text: if . == null or . == "" then "default" else tostring end;

# Does the word differ between the documents of this array?
def differs(word): map(.doc | word | text) | unique | length > 1;

# Each document with the name of our series and that of the controls' origin,
# which tell as much as differs.
def named:
    differs(.run.transport) as $transport | differs(.machine.host) as $host |
    differs(.versions.amalgam) as $version | differs(.run.nodes) as $nodes |
    map(. as $d | .doc |
        ([if $host then .machine.host | text else empty end,
            if $version then .versions.amalgam | text else empty end,
            if $nodes then "\(.run.nodes | text) nodes" else empty end] |
            join(", ")) as $origin |
        $d + {origin: $origin, who: ([.run.transport | text,
            if $origin == "" then empty else $origin end] | join(", "))}) |
    # What is still alike differs in the file at least.
    (map(.who) | group_by(.) | map(select(length > 1)[0])) as $alike |
    to_entries | map(.key as $i | .value |
        if .who as $l | any($alike[]; . == $l)
        then .who += " (\(.file))" | .origin = .who else . end |
        . + {order: $i});

# All rows, with what they need of their documents.
def all_rows:
    map({who, origin, order} as $d | .doc.rows[] | . + $d);

# The line through the rows of this array.
def line($name; $kind; x; y; lo; hi):
    {name: $name, kind: $kind, points: (map(select((x | type) == "number" and
        (y | type) == "number" and y > 0)) | group_by(x) | map({
            x: (.[0] | x), y: (map(y) | median), lo: (map(lo | numbers) | median),
            hi: (map(hi | numbers) | median),
            noisy: any(.[]; .noisy == true)}))};

def lines(key; name; $kind; x; y; lo; hi):
    group_by(key) | map((.[0] | name) as $name |
        line($name; $kind; x; y; lo; hi));

# The same of ours and of the controls: `more` tells lines of one document
# apart, $scale leads to the axis's unit.
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

def latency_figure:
    of("latency"; "rpc") | figure("latency";
        "A call and its empty answer, by the size of the input";
        panel(""; "bytes of input"; "time of a call, shaded to p99 [µs]"; "size"; times(.size)));

def threads: if (.threads // 0) == 0 then 1 else .threads end;

def rate_figures:
    of("rate"; "rpc_rate") |
    (map(select(threads > 1)) | map(.window) | unique) as $many |
    figure("rate"; "Null calls a second, by calls in flight";
        map(select(threads == 1)) | panel(""; "calls in flight";
            "million calls a second"; "count";
            ours(""; .window; 0.001) + controls(""; .window; 0.001))),
    figure("rate-threads"; "Null calls a second, by threads that call";
        map(select(.window as $w | any($many[]; . == $w))) |
        def word: "\(.window) in flight each";
        panel(""; "threads of each rank"; "million calls a second"; "count";
            ours(word; threads; 0.001) + controls(word; threads; 0.001)));

# What the bench `controls` measured of the memory and of MPI, where the rows of
# this array do not stand beside that already.
def limits($all; $op; $memory):
    (map(.against) | unique) as $have |
    (if $memory == "library" then {copy_mapped: "memcpy", copy_to_mapped: "memcpy"}
        else {vm_readv: "process_vm", vm_writev: "process_vm"} end +
        {mpi_stream: "mpi"}) as $alias |
    (if $op == "bulk_pull" then ["copy_mapped", "vm_readv"]
        else ["copy_to_mapped", "vm_writev"] end + ["mpi_stream"]) as $ops |
    $all | map(select(.bench == "controls" and .unit == "GB/s" and
            any(.op == $ops[]; .)) | . + {against: $alias[.op]} |
        select(.against != null and (.against as $a | any($have[]; . == $a) | not)) |
        . + {control_value: .value});

# Of each group of lines, the one with the most in flight.
def widest(key):
    group_by(key) | map((map(.window) | max) as $w | map(select(.window == $w))[]);

def bulk_figure($op; $name; $title):
    . as $all | of("bulk"; $op) | map(select(.unit == "GB/s")) |
    (map(.order) | unique | length) as $files |
    def in_flight: if .window > 1 then "\(.window) at once" else "one at a time" end;
    figure($name; $title; ("host", "library") as $memory |
        map(select(.memory == $memory)) |
        panel(if $memory == "host" then "the program's memory"
            else "memory of the library" end;
            "bytes of a transfer"; "GB/s"; "size";
            (if $files > 1 then widest([.order, .memory]) else . end |
                ours(in_flight; .size; 1)) +
            ((. + limits($all; $op; $memory)) | widest([.origin, .against]) |
                controls(if .window > 1 then in_flight else "" end; .size; 1))));

def bulk_small_figure:
    map(select(.bench == "bulk" and .unit == "us")) |
    figure("bulk-small"; "One short transfer at a time";
        ("bulk_pull", "bulk_push") as $op | map(select(.op == $op)) |
        panel(if $op == "bulk_pull" then "pull" else "push" end;
            "bytes of a transfer"; "time of a transfer [µs]"; "size";
            ours(if .memory == "host" then "program's memory"
                else "library's memory" end; .size; 1) +
            controls(""; .size; 1)));

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

def overlap_figure:
    map(select(.bench == "overlap")) |
    figure("overlap"; "While the target computes";
        (of("overlap"; "rpc_computing") |
            dots("a null call"; "time of a call, bar to p99 [µs]"; "target computes")),
        (of("overlap"; "compute") | map(del(.p50_us, .p99_us,
            .control_p50_us, .control_p99_us)) |
            dots("work beside a progress thread"; "time of the work [µs]";
                "with progress thread")));

def figures:
    named | all_rows | [latency_figure, rate_figures,
        bulk_figure("bulk_pull"; "bulk-pull"; "Pulls by the size of a transfer"),
        bulk_figure("bulk_push"; "bulk-push"; "Pushes by the size of a transfer"),
        bulk_small_figure, overlap_figure];

# What all figures say below their titles: what is common, and what is amiss.
def note:
    named | . as $docs |
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
        "INCOMPLETE: " + (map(.who + (.doc.why // "" |
            if . == "" then "" else " (\(.))" end)) | join(", ")))] |
    map(select(. != ""));
