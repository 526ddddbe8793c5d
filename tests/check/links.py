#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Are there dead links in a folder of HTML? links.py [--external] FOLDER

Each link to a page, an anchor, a picture or another file of the folder must
lead somewhere; ends with 1 and names those that do not. Links to other sites
are not followed: --external lists them, with the number of pages that have each.
Pages that no other page links to are dead ends, too, and are named.
"""
import os
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

# Pages of the generator, which its scripts and heads link to.
UNLINKED = {"index.html", "search.html", "genindex.html"}


class Page(HTMLParser):
    """The anchors of a page, and the links in it."""

    def __init__(self, path):
        super().__init__()
        self.anchors = {""}
        self.links = []
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors.update(
            attrs[name] for name in ("id", "name") if attrs.get(name))
        for name in ("href", "src"):
            if attrs.get(name) is not None:
                self.links.append((self.getpos()[0], attrs[name]))


def read(folder):
    pages = {}
    for place, _, files in os.walk(folder):
        for name in files:
            if name.endswith(".html"):
                path = os.path.join(place, name)
                pages[os.path.relpath(path, folder)] = Page(path)
    return pages


def check(folder):
    """Returns the dead links, links to other sites, and the number of links."""
    pages = read(folder)
    dead, external, reached, count = [], {}, set(), 0
    for name, page in sorted(pages.items()):
        for line, link in page.links:
            parts = urlsplit(link)
            count += 1
            if parts.scheme or parts.netloc:
                external.setdefault(link, set()).add(name)
                continue
            path = name if parts.path == "" else os.path.normpath(
                os.path.join(os.path.dirname(name), unquote(parts.path)))
            if path in pages:
                if path != name:
                    reached.add(path)
                if unquote(parts.fragment) not in pages[path].anchors:
                    dead.append(f"{name}:{line}: no such anchor: {link}")
            elif path.startswith("..") or not os.path.exists(
                    os.path.join(folder, path)):
                dead.append(f"{name}:{line}: no such file: {link}")
    dead += [f"{name}: no page links to it"
             for name in sorted(set(pages) - reached - UNLINKED)]
    return dead, external, count, len(pages)


def main():
    words = sys.argv[1:]
    show = words[:1] == ["--external"]
    if len(words) != 1 + show:
        print(__doc__)
        return 2
    dead, external, count, pages = check(words[-1])
    print("\n".join(dead), end="\n" if dead else "")
    if show:
        for link, where in sorted(external.items()):
            print(f"{len(where):5} {link}")
    print(f"{pages} pages, {count} links, {len(dead)} dead, "
          f"{len(external)} to other sites")
    return 1 if dead or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
