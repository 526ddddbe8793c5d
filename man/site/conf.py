# SPDX-License-Identifier: BSD-3-Clause
"""Settings of Sphinx for the site that man/site/make builds.

The environment has the version of the project. No page has a date, so that two
builds of one version are equal.
"""
import os

project = "Amalgam"
version = release = os.environ["SITE_VERSION"]
html_last_updated_fmt = None
html_show_copyright = False
extensions = ["myst_parser"]
root_doc = "index"
source_suffix = {".md": "markdown"}
# Links to headings are those of GitHub, so a page reads the same there.
myst_heading_anchors = 6
suppress_warnings = ["myst.header"]
highlight_language = "none"
html_theme = "sphinx_rtd_theme"
html_theme_options = {
    "collapse_navigation": True,
    "navigation_depth": 3,
    "prev_next_buttons_location": "none",
    "style_external_links": True,
}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_title = f"Amalgam {release}"

# The navigation of one manual page of a function is that of all: these pages
# stand in one folder, and not in the tree. Half of the time goes without this.
_navigation = {}


def navigation_keep(app, pagename, templatename, context, doctree):
    make = context.get("toctree")
    if make is None or not pagename.startswith("manual/") or \
            not pagename.endswith(".3"):
        return

    def kept(**options):
        key = tuple(sorted(options.items()))
        if key not in _navigation:
            _navigation[key] = make(**options)
        return _navigation[key]

    context["toctree"] = kept


def setup(app):
    app.connect("html-page-context", navigation_keep)
