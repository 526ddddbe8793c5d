# SPDX-License-Identifier: BSD-3-Clause
# The figures that documents have rows for: {name, title, note, panels}, as
# gnuplot.jq draws them.
include "series";

def latency_figure:
    rows_of("latency") | of("latency"; "rpc") | figure("latency";
        "A call and its empty answer, by the size of the input";
        panel(""; "bytes of input"; "time of a call, shaded to p99 [µs]"; "size"; times(.size)));

def threads: if (.threads // 0) == 0 then 1 else .threads end;

def in_flight: if .window > 1 then "\(.window) in flight" else "one at a time" end;

def rate_figures:
    rows_of("rate") |
    figure("rate"; "Null calls a second, by calls in flight";
        of("rate"; "rpc_rate") | panel(""; "calls in flight";
            "million calls a second"; "count";
            ours(""; .window; 0.001) + controls(""; .window; 0.001))),
    figure("rate-threads"; "Null calls a second, by threads that call";
        of("rate"; "threads_rate") | panel(""; "threads of each rank";
            "million calls a second"; "count";
            ours(in_flight; .threads; 0.001) +
            controls(in_flight; .threads; 0.001)));

# What the benchmark `controls` measured of memory and MPI, unless the rows of
# this array have that control already.
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

# Rows of bulk, and of the controls of the same machines, in any document.
def bulk_rows:
    . as $docs | only("bulk") | named | . as $bulk | all_rows +
        [$docs | only("controls")[] | .doc.machine.host as $host | .doc.rows[] as $row |
            [$bulk[] | select(.doc.machine.host == $host)][0] // empty |
            $row + {who, origin, order, number: 1e9}];

def bulk_figure($op; $name; $title):
    bulk_rows | . as $all | of("bulk"; $op) | map(select(.unit == "GB/s")) |
    are_several as $several |
    figure($name; $title; ("host", "library") as $memory |
        map(select(.memory == $memory)) |
        panel(if $memory == "host" then "the program's memory"
            else "memory of the library" end;
            "bytes of a transfer"; "GB/s"; "size";
            (if $several then widest([.order, .memory]) else . end |
                ours(in_flight; .size; 1)) +
            ((. + limits($all; $op; $memory)) | widest([.origin, .against]) |
                controls(if .window > 1 then in_flight else "" end; .size; 1))));

def bulk_small_figure:
    rows_of("bulk") | map(select(.unit == "us")) |
    figure("bulk-small"; "One short transfer at a time";
        ("bulk_pull", "bulk_push") as $op | map(select(.op == $op)) |
        panel(if $op == "bulk_pull" then "pull" else "push" end;
            "bytes of a transfer"; "time of a transfer [µs]"; "size";
            ours(if .memory == "host" then "program's memory"
                else "library's memory" end; .size; 1) +
            controls(""; .size; 1)));

def overlap_figure:
    rows_of("overlap") |
    figure("overlap"; "While the target computes";
        (of("overlap"; "rpc_computing") |
            dots("a null call"; "time of a call, bar to p99 [µs]"; "target computes")),
        (of("overlap"; "compute") | map(del(.p50_us, .p99_us,
            .control_p50_us, .control_p99_us)) |
            dots("work beside a progress thread"; "time of the work [µs]";
                "with progress thread")));

# From all ranks to one rank, by the window; of several documents, null calls
# only. The rate of large inputs is in GB/s.
def incast_figure:
    rows_of("incast") | map(select(.op == "incast" or .op == "incast_fair")) |
    are_several as $several |
    (map(.size) | min) as $least |
    map(select(($several | not) or .size == $least)) |
    map(if .unit == "GB/s" then (1e6 / .size) as $calls |
        .value *= $calls | .control_value *= $calls else . end) |
    def word: if .size == 0 then "null calls"
        elif .size < 1024 then "\(.size) B" else "\(.size / 1024) KiB" end;
    def part($title; $ylabel):
        panel($title; "calls in flight of each rank"; $ylabel; "count";
            ours(word; .window; 1) + controls(word; .window; 1));
    figure("incast"; "All ranks call one";
        (of("incast"; "incast") | part("rate"; "thousand calls a second"),
            (map(.value = .p99_us | .control_value = .control_p99_us) |
                part("slow calls"; "99th percentile of a call [µs]"))),
        (of("incast"; "incast_fair") |
            part("fairness"; "1: all ranks get as much done")));

# Of memory only our value is drawn: the control, what a process had before, says
# little. The x axis has the number of ranks; one number alone makes no curve.
def scale_figure:
    only("scale") | named(true) | all_rows |
    select((map(.ranks) | unique | length) > 1) |
    def step: {scale_init: "open", scale_contact: "first contact",
        scale_final: "close"}[.op];
    def kind: {scale_rss: "resident", scale_own: "its own",
        scale_segment: "shared segment, touched"}[.op];
    def times: map(.value /= 1000 | .control_value /= 1000);
    figure("scale"; "What a class takes, by the number of ranks";
        (map(select(step != null)) | times | panel("time"; "ranks";
            "milliseconds, slowest rank"; "count";
            ours(step; .ranks; 1) + controls(step; .ranks; 1))),
        (map(select(kind != null)) | panel("memory"; "ranks";
            "KiB of the rank that takes most"; "count"; ours(kind; .ranks; 1))));

def histogram_figure:
    rows_of("histogram") | map(.value /= 1000 | .control_value /= 1000 |
        del(.p50_us, .p99_us, .control_p50_us, .control_p99_us)) |
    figure("histogram"; "Random updates of bins on all ranks";
        (of("histogram"; "update") |
            dots("one a call"; "million updates a second"; "Amalgam")));

def figures:
    [latency_figure, rate_figures,
        bulk_figure("bulk_pull"; "bulk-pull"; "Pulls by the size of a transfer"),
        bulk_figure("bulk_push"; "bulk-push"; "Pushes by the size of a transfer"),
        bulk_small_figure, overlap_figure, incast_figure, histogram_figure,
        scale_figure];

# Each figure with the text below its title.
def figures_told:
    . as $docs | figures | map(. as $f |
        . + {note: ($docs | note($f.name | split("-")[0]))});
