#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The binary interface of an installed Amalgam, as text, and its comparison with
that of a release.

    abi.py write PREFIX [CFLAG...]      writes the interface to the output
    abi.py compare RELEASE NOW VERSION  compares two such files; NOW is of VERSION

Each line is one fact: an exported name with its library, version node and C
declaration; size, members and offsets of a public struct; what a public type
stands for; the value of an enumerator. The compiler finds declarations
(gcc -aux-info) and types (its debug information). A fact of the release that is not
true any more is an incompatible change. Private names are no part of the interface.
"""

import os
import re
import subprocess
import sys
import tempfile

LIBRARIES = ("amalgam", "amalgam_mpi", "amalgam_ofi")


def output_of(*command):
    """What a command writes; its failure is ours."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def headers(prefix):
    """Includes of all public headers in C."""
    folder = os.path.join(prefix, "include")
    names = [name for name in sorted(os.listdir(folder)) if name.endswith(".h")]
    if os.path.exists(os.path.join(folder, "ult", "abt.h")):
        names.append("ult/abt.h")
    return "".join(f'#include "{name}"\n' for name in names)


def compile_headers(prefix, flags, work):
    """Declarations of functions by name, and the debug information."""
    source, aux, code = (os.path.join(work, "all" + end)
                         for end in (".c", ".aux", ".o"))
    with open(source, "w", encoding="utf-8") as file:
        file.write(headers(prefix))
    output_of(os.environ.get("CC", "cc"), "-std=gnu11", "-g", "-gdwarf-4", "-O0",
              "-fno-eliminate-unused-debug-types", "-aux-info", aux,
              "-I" + os.path.join(prefix, "include"),
              "-I" + os.path.join(prefix, "include", "ult"), *flags,
              "-c", source, "-o", code)
    declared = {}
    with open(aux, encoding="utf-8") as file:
        for line in file:
            found = re.match(r"/\* (\S+):\d+:\w+ \*/ extern (.*);", line)
            if found and found[1].startswith(prefix):
                name = re.search(r"(\w+) \(", found[2])[1]
                declared[name] = found[2].replace(" (", "(", 1)
    return declared, output_of("readelf", "--debug-dump=info", code)


def exported(prefix):
    """Rows (library, node, name, kind, size) of public names."""
    for folder, _, files in os.walk(prefix):
        for library in LIBRARIES:
            if f"lib{library}.so" not in files:
                continue
            text = output_of("readelf", "-W", "--dyn-syms",
                             os.path.join(folder, f"lib{library}.so"))
            for line in text.splitlines():
                word = line.split()
                if len(word) != 8 or word[6] in ("Ndx", "UND", "ABS"):
                    continue
                name, _, node = word[7].partition("@@")
                if not node.startswith("AMALGAM_PRIVATE_"):
                    yield library, node, name, word[3], word[2]


def read_debug(text):
    """Entries of the debug information: offset to (depth, tag, attributes), and
    the children of each."""
    entries, children, path = {}, {}, []
    attributes = {}
    for line in text.splitlines():
        head = re.match(r" <(\w+)><(\w+)>: Abbrev Number: \d+ \((\w+)\)", line)
        if head:
            depth, offset, attributes = int(head[1]), int(head[2], 16), {}
            entries[offset] = (head[3][7:], attributes)
            del path[depth:]
            if path:
                children.setdefault(path[-1], []).append(offset)
            path.append(offset)
            continue
        found = re.match(r"\s+<\w+>\s+DW_AT_(\w+)\s*: (.*)", line)
        if found:
            attributes[found[1]] = re.sub(r"^\(ind.*?\): |\t.*", "",
                                          found[2]).strip()
    return entries, children


class Types:
    """Types of the debug information, and their names."""

    def __init__(self, text):
        self.entries, self.children = read_debug(text)

    def type_of(self, offset):
        """Name of the type of an entry."""
        link = self.entries[offset][1].get("type")
        return "void" if link is None else self.name(int(link[1:-1], 16))

    def name(self, offset):
        """Name of a type, close to C."""
        tag, attributes = self.entries[offset]
        inner = self.type_of(offset)
        if tag == "pointer_type":
            return inner + " *"
        if tag in ("const_type", "volatile_type", "atomic_type", "restrict_type"):
            return f"{inner} {tag[:-5]}"
        if tag == "array_type":
            bounds = [self.entries[child][1].get("upper_bound", "-1")
                      for child in self.children.get(offset, [])]
            return inner + "".join(f"[{int(last, 0) + 1}]" for last in bounds)
        if tag == "subroutine_type":
            arguments = [self.type_of(child) if "parameters" not in
                         self.entries[child][0][:12] else "..."
                         for child in self.children.get(offset, [])]
            return f"{inner}({', '.join(arguments)})"
        word = {"structure_type": "struct ", "union_type": "union ",
                "enumeration_type": "enum "}.get(tag, "")
        return word + attributes.get("name", "{...}")

    def members(self, title, offset):
        """Facts of a struct or union."""
        yield f"{title}: {self.entries[offset][1]['byte_size']} bytes"
        for child in self.children.get(offset, []):
            tag, attributes = self.entries[child]
            if tag != "member":
                continue
            at = attributes.get("data_member_location", "0").split()[0]
            bits = attributes.get("bit_size")
            if bits is not None:
                at = f"bit {attributes.get('data_bit_offset')}, {bits} bits"
            name = attributes.get("name", "{...}")
            yield f"{title}.{name}: at {at}, {self.type_of(child)}"
            link = int(attributes["type"][1:-1], 16)
            if "name" not in self.entries[link][1] and \
                    self.entries[link][0] in ("structure_type", "union_type"):
                yield from self.members(f"{title}.{name}", link)

    def facts(self, public):
        """Facts of all types and enumerators whose names are in `public`."""
        for offset, (tag, attributes) in self.entries.items():
            name = attributes.get("name", "")
            if tag == "enumerator" and name in public:
                yield f"value {name} = {int(attributes['const_value'], 0)}"
            elif tag in ("structure_type", "union_type") and \
                    "byte_size" in attributes:
                title = tag[:-5].replace("ure", "") + " " + name
                if title in public:
                    yield from self.members(title, offset)
            elif tag == "typedef" and name in public:
                yield f"type {name} = {self.type_of(offset)}"
                link = attributes.get("type")
                link = None if link is None else int(link[1:-1], 16)
                if link and self.entries[link][0] in (
                        "structure_type", "union_type") and \
                        "name" not in self.entries[link][1]:
                    yield from self.members(f"type {name}", link)


def write(prefix, flags):
    """The interface of the install at `prefix`."""
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as work:
        declared, debug = compile_headers(prefix, flags, work)
        source = os.path.join(work, "all.c")
        text = output_of(os.environ.get("CC", "cc"), "-std=gnu11", "-E", "-dD",
                         "-I" + os.path.join(prefix, "include"),
                         "-I" + os.path.join(prefix, "include", "ult"), *flags,
                         source)
        with open(source + ".i", "w", encoding="utf-8") as file:
            file.write(text)
        public = set()
        for folder in ("include/", "include/ult/"):
            rows = output_of("awk", "-v",
                             f"folder={os.path.join(prefix, folder)}", "-f",
                             os.path.join(here, "declared.awk"), source + ".i")
            public.update(row.split("\t")[1] for row in rows.splitlines())
    lines = set(Types(debug).facts(public))
    for library, node, name, kind, size in exported(prefix):
        if name.startswith("amalgam_for_"):
            continue  # one of them, by the MPI of the build
        if kind != "OBJECT" and name not in declared:
            sys.exit(f"src/exports.txt has {name}, which no header declares")
        what = declared.pop(name, f"{size} bytes")
        lines.add(f"name {library} {node} {name}: {what}")
    if declared:
        sys.exit("headers declare these, and src/exports.txt lacks them: " +
                 " ".join(sorted(declared)))
    print("\n".join(sorted(lines)))


def grows(line, old, new):
    """Is this the size of a struct that says its size itself, and grew?"""
    found = re.match(r"((?:struct|type) \w+): (\d+) bytes", line)
    if not found or not any(fact.startswith(found[1] + ".size: at 0, ")
                            for fact in old):
        return False
    return any(int(fact.split()[-2]) > int(found[2]) for fact in new
               if fact.startswith(found[1] + ": "))


def compare(release, now, version):
    """Prints incompatible changes; whether there are none."""
    with open(release, encoding="utf-8") as file:
        lines = file.read().splitlines()
    old = {line for line in lines if not line.startswith("#")}
    with open(now, encoding="utf-8") as file:
        new = set(file.read().splitlines())
    released = re.match(r"# Amalgam ([0-9.]+)", lines[0])[1]
    gone = [line for line in sorted(old - new) if not grows(line, old, new)]
    added = sorted(new - old)
    for line in gone:
        print(f"changed or gone since {released}: {line}")
    for line in added:
        node = re.match(r"name \w+ AMALGAM_(\S+) ", line)
        if released == version:
            print(f"{version} is the release of the file, which lacks: {line}")
        elif node and [int(n) for n in node[1].split(".")] <= \
                [int(n) for n in released.split(".")]:
            print(f"new, but in the node of a release that has it not: {line}")
            gone.append(line)
    print(f"{len(old)} facts of {released}: {len(gone)} are not true any more, "
          f"{len(added)} are new")
    return not gone and not (added and released == version)


def main():
    """Runs one of the two commands."""
    if len(sys.argv) > 2 and sys.argv[1] == "write":
        write(os.path.realpath(sys.argv[2]), sys.argv[3:])
    elif len(sys.argv) == 5 and sys.argv[1] == "compare":
        sys.exit(0 if compare(*sys.argv[2:]) else 1)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
