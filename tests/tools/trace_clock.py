#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the clocks of a trace of trace_job.c.

    trace_clock.py AMALGAM_TRACE_TOOL DIR SKEW_FROM SKEW_NS

Each mark "true NS" was made between NS and the NS of the next mark of its
process: by the aligned clock of the process, with its error bound, too.
"""
import importlib.machinery
import importlib.util
import sys

loader = importlib.machinery.SourceFileLoader("trace", sys.argv[1])
spec = importlib.util.spec_from_loader("trace", loader)
trace = importlib.util.module_from_spec(spec)
loader.exec_module(trace)
job = trace.Job(sys.argv[2])
skew_from, skew_ns = int(sys.argv[3]), int(sys.argv[4])
picture = trace.Picture(job)
bad = 0
for process in job.processes:
    clock = process.clock_of
    if clock.bound_ns is None or clock.bound_ns > abs(skew_ns) / 2 > 0:
        print(f"rank {process.rank}: error bound {clock.bound_ns} ns")
        bad += 1
        continue
    if process.rank >= skew_from and abs(clock.offset_ns) < abs(skew_ns) / 2:
        print(f"rank {process.rank}: offset {clock.offset_ns} ns")
        bad += 1
    own = [(at, int(text.split()[1])) for of, _, text, at
           in picture.marks if of is process]
    if len(own) < 40:
        print(f"rank {process.rank}: {len(own)} marks")
        bad += 1
    for (at, true), (_, after) in zip(own, own[1:]):
        if not true - clock.bound_ns <= at <= after + clock.bound_ns:
            print(f"rank {process.rank}: {at - true} ns after its mark, "
                  f"bound {clock.bound_ns} ns")
            bad += 1
sys.exit(bad > 0)
