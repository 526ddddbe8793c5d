# SPDX-License-Identifier: BSD-3-Clause
# Makes a table in Markdown of documents: an array of {file, doc} becomes lines.
include "series";

# The rows of the table, in order. A choice selects rows by the members that it
# has; a choice without a row in the documents is left out.
def choices: [
    {what: "call with two ints there and back", bench: "latency", op: "rpc_ints"},
    {what: "the same, by hg_request_wait", bench: "latency", op: "rpc_ints_request"},
    {what: "call with a string of 20 B", bench: "latency", op: "rpc_text"},
    {what: "call with a bulk handle", bench: "latency", op: "rpc_bulk_handle"},
    {what: "call with 1 KiB there and back", bench: "latency", op: "rpc_echo", size: 1024},
    {what: "null call", bench: "latency", op: "rpc", size: 0},
    {what: "call with 4 KiB of input", bench: "latency", op: "rpc", size: 4096},
    {what: "arguments of twice the eager size", bench: "latency", op: "rpc_2x_both"},
    {what: "null calls, 64 in flight", bench: "rate", op: "rpc_rate", window: 64, threads: 1},
    {what: "calls with two ints, 64 in flight", bench: "rate", op: "rpc_rate_ints", window: 64},
    {what: "null calls to a rank that computes", bench: "overlap", op: "rpc_computing"},
    {what: "null call to a rank asleep", bench: "wake", op: "wake_caller"},
    {what: "null call with 64 silent peers", bench: "silent", op: "rpc_silent"},
    ({what: "pull of 4 KiB, one at a time", size: 4096, unit: "us"},
        {what: "pull of 64 KiB", size: 65536, unit: "GB/s"},
        {what: "pull of 4 MiB", size: 4194304, unit: "GB/s"} |
        ({memory: "host", of: ", the program's memory"},
            {memory: "library", of: ", the library's"}) as $memory |
        {what: (.what + $memory.of), memory: $memory.memory, bench: "bulk",
            op: "bulk_pull", size, unit}),
    {what: "one-way updates", bench: "histogram", op: "update", against: "mpi"},
    {what: "margo_forward", bench: "margo", op: "margo", size: 0},
    {what: "margo_forward with two ints there and back", bench: "margo", op: "margo_ints"},
    {what: "margo_forward of 64 threads", bench: "margo", op: "margo_rate"},
    {what: "call by Thallium, no arguments", bench: "margo", op: "thallium_call", size: 0},
    {what: "call by Thallium, two ints there and back", bench: "margo", op: "thallium_call", size: 8},
    {what: "call by Thallium, std::string of 64 B", bench: "margo", op: "thallium_call", size: 64},
    {what: "call by Thallium, std::vector of 4 KiB", bench: "margo", op: "thallium_call", size: 4096},
    {what: "pull of 64 KiB by a handler", bench: "margo", op: "margo_pull", size: 65536}];

# Three significant digits.
def digits:
    if . == null then "" elif . == 0 then "0"
    else (fabs | log10 | floor) as $n |
        if $n >= 2 then round | tostring
        else pow(10; 2 - $n) as $p | (. * $p | round) / $p | tostring end end;

def with_unit($unit):
    if . == null or $unit == null then ""
    elif $unit == "k/s" and . >= 1000 then "\(. / 1000 | digits) M/s"
    else "\(digits) \($unit)" end;

# The longest of the notes of the figures.
def notes: . as $docs | [choices[].bench] | unique |
    map(. as $bench | $docs | note($bench)) | max_by(length);

def cell: tostring | gsub("[|\\n]"; " ");

def chosen($choice):
    ($choice | del(.what) | to_entries) as $members |
    map(. as $row | select(all($members[];
        . as $m | ($row[$m.key] // if $m.key == "threads" then 1 else null end) == $m.value)));

def table_lines:
    named | . as $docs | all_rows |
    # Of each choice, the row with the most in flight.
    . as $rows | [choices[] | .what as $what | . as $choice | $rows |
        chosen($choice) | group_by([.order, .against])[] |
        (map(.window) | max) as $window | map(select(.window == $window))[0] |
        "| \($what)\(if .bench == "bulk" and .window > 1 then
            ", \(.window) at once" else "" end) | \(.who | cell) | \(.unit as $unit |
            [(.value | with_unit($unit)),
            (if .p99_us == null or .p99_us == 0 then ""
                else .p99_us | with_unit("us") end),
            "\(.control_value | with_unit($unit)), \(.against | text | control_word)",
            "\(.ratio | digits)\(if .noisy == true then " (noisy)" else "" end)"] |
            map(cell) | join(" | ")) |"] |
    if length == 0 then empty else
        ($docs | notes | map(cell)[]), "",
        "| | transport | ours | p99 | control | ratio |", "|---|---|---|---|---|---|",
        .[] end;
