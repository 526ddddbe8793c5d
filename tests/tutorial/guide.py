#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Is include/GUIDE.md true? guide.py JOBS.LIST LAUNCH

A block of code consists of lines of the program that the last link before the
block names, in the order of the program; "/* ... */" (in Fortran "! ...") stands
for lines that are left out. A block of text is a command and what the command prints, in any
order of lines. Batch scripts and programs that the guide names exist.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GUIDE = os.path.join(ROOT, "include", "GUIDE.md")
GAPS = ("/* ... */", "! ...")
bad = 0


def complain(line, text):
    global bad
    bad += 1
    print(f"include/GUIDE.md:{line}: {text}")


def blocks(lines):
    """Yields first line, language, lines and the program named before."""
    source = language = start = None
    body = []
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            if start is None:
                start, language, body = number, line[3:], []
            else:
                yield start, language, body, source
                start = None
        elif start is not None:
            body.append(line)
        else:
            for link in re.findall(r"\]\(\.\./(jobs/[^)#]*)\)", line):
                source = link


def in_order(body, text):
    """The first line of the block that the text does not have where it must."""
    at = 0
    is_open = True  # the next line may be anywhere behind `at`
    for line in body:
        if line.strip() in GAPS:
            is_open = True
            continue
        if is_open:
            if line not in text[at:]:
                return line
            at += text[at:].index(line)
        elif at >= len(text) or text[at] != line:
            return line
        at += 1
        is_open = False
    return None


def check_code(start, body, source):
    if source is None:
        complain(start, "no program is named before this code")
        return
    with open(os.path.join(ROOT, source), encoding="utf-8") as file:
        text = file.read().split("\n")
    if not any(line.strip() not in ("",) + GAPS for line in body):
        complain(start, "a block without code")
        return
    # A line may occur several times: try each place of the first line.
    first = next(line for line in body if line.strip() not in GAPS)
    places = [i for i, line in enumerate(text) if line == first]
    wrong = [in_order(body, text[place:]) for place in places] or [first]
    if None not in wrong:
        complain(start, f"{source} has no such line at this place: {wrong[-1]}")


def same(line):
    """The line without what differs from run to run, or is the user's."""
    line = re.sub(r"mpi://[0-9a-f]{16}/", "mpi://JOB/", line)
    line = re.sub(r"rank \d+( -> rank \d+)+", "CIRCLE", line)
    return re.sub(r"\b\d+ bytes", "N bytes", line)


def check_output(start, body, jobs, launch):
    words = body[0].split()
    if words[:2] != ["$", "jobs/run"]:
        complain(start, "no command in the first line")
        return False
    job, args, ranks = words[2], words[3:], None
    if args[:1] == ["-n"]:
        ranks, args = args[1], args[2:]
    if job not in jobs:
        print(f"{job} was not built here")
        return False
    program, usual = jobs[job]
    run = subprocess.run(
        [launch, "-n", ranks or usual, program] + args, cwd=ROOT, text=True,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=100, check=False)
    if run.returncode != 0:
        complain(start, f"{body[0]}: exit code {run.returncode}\n{run.stderr}")
    said = [same(line) for line in body[1:]]
    if all(line.startswith("amalgam [") for line in said):
        # Lines of the log, among others.
        log = [same(line) for line in run.stderr.split("\n")]
        missing = [line for line in said if line not in log]
        if missing or not said:
            complain(start, f"{body[0]} does not log: {missing}\n{run.stderr}")
        return True
    got = [same(line) for line in run.stdout.rstrip("\n").split("\n")]
    if sorted(said) != sorted(got):
        complain(start, f"{body[0]} prints:\n" + "\n".join(got))
    return True


def check_names(lines, jobs):
    """Headings have their row in the table of steps, and programs exist."""
    text = "\n".join(lines)
    steps = re.findall(r"^## (\d+)\. (.*)$", text, re.M)
    rows = re.findall(r"^\| \[(\d+)\. (.*?)\]\(#.*?\) \| (.*) \|$", text, re.M)
    if [step for step in steps] != [(row[0], row[1]) for row in rows]:
        complain(1, "the table of steps and the headings differ")
    if [int(step[0]) for step in steps] != list(range(1, len(steps) + 1)):
        complain(1, "steps are not numbered one by one")
    sources = os.listdir(os.path.join(ROOT, "jobs", "tutorial"))
    for row in rows:
        for name in re.findall(r"`(.*?)`", row[2]):
            if name not in jobs and not any(
                    source.split(".")[0] == name for source in sources):
                complain(1, f"there is no program {name}")
    for script in set(re.findall(r"\bslurm/[A-Za-z.-]+[a-z]", text)):
        if not os.path.exists(os.path.join(ROOT, script)):
            complain(1, f"there is no {script}")


def self_check():
    """The check of code detects a wrong line, a wrong order, a missing gap."""
    text = ["a", "b", "c", "d"]
    assert in_order(["a", "b", GAPS[0], "d"], text) is None
    assert in_order(["b", "a"], text) == "a"
    assert in_order(["a", "c"], text) == "c"
    assert in_order(["a", GAPS[1], "e"], text) == "e"


def main():
    jobs = {}
    with open(sys.argv[1], encoding="utf-8") as file:
        for line in file:
            if line.strip():
                name, program, ranks, _ = line.rstrip("\n").split("\t")
                jobs[name] = program, ranks
    with open(GUIDE, encoding="utf-8") as file:
        lines = file.read().split("\n")
    self_check()
    code = outputs = 0
    for start, language, body, source in blocks(lines):
        if language in ("c", "cpp", "fortran"):
            check_code(start, body, source)
            code += 1
        elif language == "text":
            outputs += check_output(start, body, jobs, sys.argv[2])
        elif language not in ("sh", ""):
            complain(start, f"a block of {language}, which nobody checks")
    check_names(lines, jobs)
    if code < 20 or outputs < 5:
        complain(1, f"only {code} blocks of code and {outputs} outputs")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
