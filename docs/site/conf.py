"""The site of the documentation (`make docs`): Sphinx with MyST and Furo, over the pages as they stand in the tree."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))

project = "keisoku"
author = "the developers of keisoku"
version = release = installed("keisoku")
extensions = ["myst_parser"]
root_doc = "docs/index"
source_suffix = {".md": "markdown"}
include_patterns = ["*.md", "docs/*.md", "docs/**/*.md", "benchmarks/*.md", "fpga/board/**/*.md"]
exclude_patterns = [
    "README.md",
    ".*",
    "target",
    "dist",
    "build",
    "runs",
    "tests",
    "keisoku",
    "core",
    "packaging",
    "node_modules",
]
exclude_patterns += ["**/node_modules", "fpga/**/build", "**/.venv"]
html_theme = "furo"
html_title = "keisoku"
html_static_path: list[str] = []
html_extra_path = ["root"]
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
templates_path: list[str] = []
myst_heading_anchors = 4
nitpicky = True


def _filled(app: Sphinx, page: str, source: list[str]) -> None:
    import generated
    import pictures

    source[0] = generated.filled(source[0], pictures.picture)


def setup(app: Sphinx) -> None:
    """Marks in pages are replaced by what is generated, before a page is read."""
    app.connect("source-read", _filled)
