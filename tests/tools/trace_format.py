#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks a file against the rules of the Trace Event Format.

    trace_format.py FILE [KEY=VALUE...]

The rules are those of the document "Trace Event Format" of Chromium, for the
phases that amalgam_trace writes. Each KEY=VALUE demands a number of objects:
processes, arrows (flows with at least two ends), slices:NAME, marks:NAME. A
value that begins with + is the least number. Exit code 1: a rule is broken.
"""
import bisect
import collections
import gzip
import json
import numbers
import sys

FIELDS = {
    "M": {"name": str, "pid": int, "args": dict},
    "X": {"name": str, "cat": str, "pid": int, "tid": int,
          "ts": numbers.Real, "dur": numbers.Real},
    "b": {"name": str, "cat": str, "pid": int, "id": (int, str),
          "ts": numbers.Real},
    "e": {"name": str, "cat": str, "pid": int, "id": (int, str),
          "ts": numbers.Real},
    "i": {"name": str, "pid": int, "tid": int, "ts": numbers.Real, "s": str},
}
FIELDS["s"] = FIELDS["t"] = FIELDS["f"] = {
    "name": str, "cat": str, "pid": int, "tid": int, "id": (int, str),
    "ts": numbers.Real}
METADATA = {"process_name": ("name", str), "thread_name": ("name", str),
            "process_labels": ("labels", str),
            "process_sort_index": ("sort_index", int),
            "thread_sort_index": ("sort_index", int)}


class Broken(Exception):
    """A rule is broken."""


def demand(is_right, row, why):
    if not is_right:
        raise Broken(f"{why}: {json.dumps(row)[:300]}")


def check_fields(rows):
    for row in rows:
        demand(isinstance(row, dict) and row.get("ph") in FIELDS, row,
               "no known phase")
        for name, kind in FIELDS[row["ph"]].items():
            demand(isinstance(row.get(name), kind) and
                   not isinstance(row[name], bool), row,
                   f"field {name} is missing or of a wrong type")
        demand(row.get("ts", 0) >= 0 and row.get("dur", 0) >= 0, row,
               "a negative time")
        demand(isinstance(row.get("args", {}), dict), row, "args no object")
        if row["ph"] == "M":
            demand(row["name"] in METADATA, row, "unknown metadata")
            key, kind = METADATA[row["name"]]
            demand(isinstance(row["args"].get(key), kind), row,
                   f"no argument {key}")
        if row["ph"] == "i":
            demand(row["s"] in "gpt", row, "unknown scope")


def check_nesting(rows):
    """Slices of a thread nest; the tolerance is the last digit of times."""
    tracks = collections.defaultdict(list)
    for row in rows:
        if row["ph"] == "X":
            tracks[row["pid"], row["tid"]].append(row)
    for track in tracks.values():
        track.sort(key=lambda row: (row["ts"], -row["dur"]))
        ends = []
        for row in track:
            while ends and ends[-1] <= row["ts"] + 0.0015:
                ends.pop()
            end = row["ts"] + row["dur"]
            demand(not ends or end <= ends[-1] + 0.0015, row,
                   "slice overlaps the end of the slice around it")
            ends.append(end)
    return tracks


def is_covered(row, track, starts):
    """Is there a slice at the time of the row?"""
    at = bisect.bisect_right(starts, row["ts"] + 0.0015)
    return any(row["ts"] <= of["ts"] + of["dur"] + 0.0015
               for of in reversed(track[max(at - 1000, 0):at]))


def check_pairs(rows):
    opened = {}
    for row in rows:
        key = row.get("cat"), row.get("id"), row["pid"]
        if row["ph"] == "b":
            demand(key not in opened, row, "begun twice")
            opened[key] = row
        elif row["ph"] == "e":
            begin = opened.pop(key, None)
            demand(begin is not None, row, "ends without a begin")
            demand(begin["name"] == row["name"] and begin["ts"] <= row["ts"],
                   row, "ends before its begin, or under another name")


def check_flows(rows, tracks):
    """A flow begins with s, ends with f, in order of time, in slices."""
    flows = collections.defaultdict(list)
    starts = {key: [of["ts"] for of in track] for key, track in tracks.items()}
    for row in rows:
        if row["ph"] in "stf":
            flows[row["cat"], row["id"]].append(row)
            key = row["pid"], row["tid"]
            demand(is_covered(row, tracks[key], starts.get(key, [])), row,
                   "no slice to bind to")
    arrows = 0
    for flow in flows.values():
        phases = "".join(row["ph"] for row in flow)
        demand(phases[0] == "s" and "s" not in phases[1:] and
               phases.find("f") in (-1, len(phases) - 1), flow,
               "phases of a flow in a wrong order")
        times = [row["ts"] for row in flow]
        demand(times == sorted(times), flow, "a flow goes back in time")
        arrows += phases[-1] == "f"
    return arrows


def main():
    path, wanted = sys.argv[1], sys.argv[2:]
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        document = json.load(file)
    try:
        rows = document["traceEvents"]
        demand(document.get("displayTimeUnit") in ("ms", "ns"), {},
               "displayTimeUnit")
        check_fields(rows)
        arrows = check_flows(rows, check_nesting(rows))
        check_pairs(rows)
        for want in wanted:
            key, _, value = want.rpartition("=")
            kind, _, name = key.partition(":")
            count = {
                "processes": lambda: len({row["pid"] for row in rows}),
                "arrows": lambda: arrows,
                "slices": lambda: sum(row["ph"] == "X" and row["name"] == name
                                      for row in rows),
                "marks": lambda: sum(row["ph"] == "i" and row["name"] == name
                                     for row in rows),
            }[kind]()
            demand(count >= int(value[1:]) if value[0] == "+"
                   else count == int(value), {}, f"{key} is {count}, not "
                   f"{value}")
    except Broken as broken:
        print(f"{path}: {broken}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
