#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Is the recipe for Spack true? spack.py TOP: the top of the source tree.

The recipe runs with stand-ins for Spack's functions, which keep what it states.
That is compared with CMake's options and requirements, with the version, and with
the table of packages in src/install/README.md. Then CMake configures
with the arguments that the recipe gives for some choices of variants. Where spack is
installed, it also has to find a solution (spack spec).
"""

import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types

# What the column of Spack names, and a recipe names otherwise: any MPI, and
# any zlib.
VIRTUAL = {"mpich": "mpi", "zlib": "zlib-api"}

top = os.path.abspath(sys.argv[1])
folder = os.path.join(top, "src", "install", "spack")
problems = []


def check(is_right, text):
    """Keeps `text` if something is not right."""
    if not is_right:
        problems.append(text)


def text_of(*path):
    """A file of the source tree."""
    with open(os.path.join(top, *path), encoding="utf-8") as file:
        return file.read()


class Recipe:
    """What a recipe states by Spack's directives."""

    def __init__(self):
        self.versions, self.variants, self.depends, self.conflicts = [], {}, [], []
        self.names = {}

    def module(self):
        """The stand-in for spack.package."""
        module = types.ModuleType("spack.package")
        recipe = self

        class CMakePackage:
            """Gives CMake's arguments for a choice of variants."""

            def __init__(self, chosen):
                self.chosen = chosen

            def define(self, option, value):
                """-DOPTION=VALUE, as Spack writes it."""
                if isinstance(value, bool):
                    return f"-D{option}:BOOL={'ON' if value else 'OFF'}"
                return f"-D{option}:STRING={value}"

            def define_from_variant(self, option, variant):
                """The same, with the value of a variant."""
                recipe.names.setdefault(variant, set()).add(option)
                return self.define(option, self.chosen[variant])

        module.CMakePackage = CMakePackage
        module.version = lambda name, **words: self.versions.append(name)
        module.variant = lambda name, default, description: \
            self.variants.update({name: default})
        module.depends_on = lambda spec, type=None, when="": \
            self.depends.append((spec, when))
        module.conflicts = lambda spec, when, msg: \
            self.conflicts.append((spec, when))
        module.license = module.generator = module.maintainers = \
            lambda *words: None
        return module

    def allows(self, chosen):
        """Does no conflict forbid this choice of variants?"""
        def holds(spec):
            return chosen[spec[1:]] == (spec[0] == "+")
        return not any(holds(spec) and holds(when)
                       for spec, when in self.conflicts)


def load(path):
    """Runs the recipe; it and its class."""
    recipe = Recipe()
    sys.modules["spack"] = types.ModuleType("spack")
    sys.modules["spack.package"] = recipe.module()
    space = {"__file__": path}
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), space)  # pylint: disable=W0122
    return recipe, space["Amalgam"]


def check_options(recipe, package):
    """Each variant sets one option of CMake, and each option exists."""
    lists = text_of("CMakeLists.txt") + text_of("src", "packages.cmake")
    known = set(re.findall(r"option\((AMALGAM_\w+)", lists)) | {"BUILD_SHARED_LIBS"}
    arguments = package(recipe.variants).cmake_args()
    given = re.findall(r"-D(\w+):", " ".join(arguments))
    check(len(given) == len(set(given)), "an option is given twice")
    for option in given:
        check(option in known, f"CMake has no option {option}")
    for variant in recipe.variants:
        check(len(recipe.names.get(variant, ())) == 1,
              f"the variant {variant} does not set one option")
    for option in known - set(given) - {"AMALGAM_WERROR"}:
        check(False, f"the recipe does not give {option}")

    # "... is left out: it needs ...", in the branch of an option that is ON
    margo = {"Margo": "AMALGAM_MARGO"}
    found = re.findall(r'if\((AMALGAM_\w+)\)\s+message\(STATUS\s+"[^"]*left out: '
                       r'it needs (\w+)"', lists)
    check(len(found) > 0, "no requirement between options is found")
    variant_of = {option: variant for variant, options in recipe.names.items()
                  for option in options}
    for option, needed in found:
        conflict = (f"+{variant_of[option]}",
                    f"~{variant_of[margo.get(needed, needed)]}")
        check(conflict in recipe.conflicts, f"no conflict states {conflict}")


def check_packages(recipe):
    """The table of packages, CMake's oldest versions, and the recipe agree."""
    version = re.search(r"project\(amalgam VERSION (\S+)", text_of("CMakeLists.txt"))
    check(version[1] in recipe.versions, f"the recipe has no version {version[1]}")
    depends = {}
    for spec, when in recipe.depends:
        name, _, oldest = spec.partition("@")
        depends.setdefault(name, []).append((oldest.rstrip(":"), when))
    pages = text_of("src", "install", "README.md")
    table = re.search(r"^\| library \| version \|.*?\n\n", pages, re.M | re.S)[0]
    for row in table.strip().splitlines()[2:]:
        cell = [part.strip() for part in row.strip("|").split("|")]
        if not cell[5].startswith("`"):
            continue  # words about a compiler
        names = re.search(r"`([^`]+)`", cell[5])[1].split()
        for number, name in enumerate(names):
            name = VIRTUAL.get(name, name)
            check(name in depends, f"the table names {name}, the recipe does not")
            if number == 0 and cell[1] != "any" and name in depends:
                check(all(oldest == cell[1] for oldest, _ in depends[name]),
                      f"the table asks for {name} {cell[1]}")
    for option, module, oldest in re.findall(
            r'"(OFI|HWLOC|JSON);([a-z-]+);[a-z0-9-]+;([0-9.]+);',
            text_of("src", "packages.cmake")):
        check((oldest, f"+{option.lower()}") in depends.get(module, []),
              f"CMake needs {module} {oldest} for AMALGAM_{option}")
    check(("0.15", "+margo") in depends["json-c"], "Margo needs json-c")


def check_configures(recipe, package, work):
    """CMake takes the arguments, and finds nothing to leave out."""
    off = dict.fromkeys(recipe.variants, False)
    choices = [recipe.variants, off]
    choices += [{**recipe.variants, "margo": False, "thallium": False, "json": False}]
    for number, chosen in enumerate(choices):
        check(recipe.allows(chosen), f"a conflict forbids {chosen}")
        done = subprocess.run(
            ["cmake", "-S", top, "-B", os.path.join(work, str(number)), "-G", "Ninja",
             *package(chosen).cmake_args()], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False)
        check(done.returncode == 0, f"cmake for {chosen}: {done.stdout[-2000:]}")
        check("is left out: it needs" not in done.stdout,
              f"CMake leaves out what was chosen: {chosen}")
        check("not used by the project" not in done.stdout, "CMake knows not all")
    count = sum(recipe.allows(dict(zip(recipe.variants, values))) for values in
                itertools.product([False, True], repeat=len(recipe.variants)))
    print(f"{len(recipe.variants)} variants, {count} choices allowed, "
          f"{len(choices)} configured")


def check_by_spack(work):
    """Spack itself, with a configuration of its own."""
    environment = {**os.environ, "SPACK_USER_CONFIG_PATH": work,
                   "SPACK_USER_CACHE_PATH": work, "SPACK_DISABLE_LOCAL_CONFIG": "1"}
    for command in (["repo", "add", folder], ["spec", "amalgam"],
                    ["spec", "amalgam~mpi~fortran"]):
        done = subprocess.run(["spack", *command], env=environment, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        check(done.returncode == 0, f"spack {command}: {done.stdout[-2000:]}")


def main():
    """All checks."""
    recipe, package = load(os.path.join(folder, "packages", "amalgam", "package.py"))
    check(re.search(r"^repo:\n +namespace: amalgam$",
                    text_of("src", "install", "spack", "repo.yaml"), re.M),
          "repo.yaml has no namespace amalgam")
    check(package.git == "file://" + top, f"the recipe clones {package.git}")
    check_options(recipe, package)
    check_packages(recipe)
    with tempfile.TemporaryDirectory() as work:
        check_configures(recipe, package, work)
        if shutil.which("spack"):
            check_by_spack(work)
        else:
            print("spack is not here: only the stand-ins were asked")
    for problem in problems:
        print("FAILED:", problem)
    sys.exit(1 if problems else 0)


main()
