"""The site of the documentation: it builds without a warning, every measurement has a page, and words are those of the
program."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import clauses
import click
import generated
import pytest
from support.doc_blocks import PAGES, ROOT

from keisoku.faces.cli.main import GROUPS, keisoku
from keisoku.ground.host.two_ended.far_end import PROGRAM
from keisoku.language import catalogue

OTHERS = {
    "--authorized-users",
    "--bidir",
    "--get-server-output",
    *("--set-eee", "--in-guest", "--latency-correction", "--tag", "--file", "--write", "--only"),
    *("--privileged", "--network", "--random"),
}
"""Options of other programs, and of scripts of benchmarks and tests."""
LONGEST = 38
"""Words of a sentence in pages and texts of the program: readers learnt English as a second language."""
FOR_USERS = [path for path in PAGES if path.is_relative_to(ROOT / "docs") or path == ROOT / "README.md"]


@cache
def of_the_far_end() -> frozenset[str]:
    """Options of `keisoku-far` and its services."""
    services = re.findall(r"^  (\w+) ", subprocess.check_output([PROGRAM, "--help"], text=True), flags=re.MULTILINE)
    said = [subprocess.check_output([PROGRAM, service, "--help"], text=True) for service in services]
    return frozenset(re.findall(r"--[a-z][\w-]*", " ".join(said)))


def every_option(command: click.Command, context: click.Context) -> set[str]:
    found = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            found |= every_option(inner, click.Context(inner, parent=context, info_name=name))
    return found | {"--help", "--version"}


@pytest.mark.timeout(600)
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """Links to pages, headings and files that do not exist are warnings, as are pages that the navigation lacks."""
    pytest.importorskip("furo", reason="./setup.sh docs installs what makes the site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-c", "docs/site", "."]
    made = subprocess.run(
        [*command, "-d", tmp_path / "trees", tmp_path / "site"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    page = (tmp_path / "site" / "docs" / "measurements" / "throughput.html").read_text()
    assert "RFC 2544 §26.1" in page
    assert (tmp_path / "site" / "index.html").exists()


def test_scripts_that_pages_name_are_there() -> None:
    """But in the change log, whose names were those of its time."""
    script = re.compile(r"(?<![\w/])(?:benchmarks|tests|packaging|examples)/[\w/]+\.(?:py|sh|toml)")
    named = {name for path in PAGES if path.name != "CHANGELOG.md" for name in script.findall(path.read_text())}
    assert not [name for name in named if not (ROOT / name).exists()] and len(named) > 50


def test_clauses_are_found_with_their_code_and_tests() -> None:
    found = clauses.clauses()
    throughput = found["RFC 2544", "26.1"]
    assert "keisoku/subjects/device/procedure/rfc2544/throughput.py" in throughput.code and throughput.tests
    named = clauses.named("""RFC 2889 §5.9, and §5.9.5 of it; Koenker (2005), §3.2. RFC2544 appendix C.2.2""")
    assert list(named) == [("RFC 2889", "5.9"), ("RFC 2889", "5.9.5"), ("RFC 2544", "C.2.2")]
    modules = clauses.imported("from keisoku.a import (\n    b,\n    c,\n)\nimport keisoku.d\n")
    assert {"keisoku.a.b", "keisoku.a.c", "keisoku.d"} <= {*modules}
    assert len(found) > 200 and sum(bool(places.tests) for places in found.values()) > 0.7 * len(found)


def test_every_measurement_has_a_page() -> None:
    pages = {path.stem: path.read_text() for path in (ROOT / "docs" / "measurements").glob("*.md")}
    marks = {name: re.findall(r"<!-- generated: measurement (.*?) -->", text) for name, text in pages.items()}
    marks.pop("index")
    assert marks == {generated.page_name(name): [name] for name in generated.names()}


def test_every_command_is_in_the_reference() -> None:
    pages = "".join(path.read_text() for path in (ROOT / "docs" / "commands").glob("*.md"))
    assert set(re.findall(r"<!-- generated: commands (.*?) -->", pages)) == set(GROUPS)
    text = generated.filled(pages)
    for name in keisoku.list_commands(click.Context(keisoku)):
        assert f"## keisoku {name}\n" in text


@pytest.mark.parametrize("path", FOR_USERS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_option_that_a_page_names_exists(path: Path) -> None:
    known = every_option(keisoku, click.Context(keisoku, info_name="keisoku")) | OTHERS | of_the_far_end()
    prose = re.sub(r"^( *)```.*?^\1```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    named = {
        option for code in re.findall(r"`([^`\n]+)`", prose) for option in re.findall(r"(?<!\S)--[a-z][\w-]*", code)
    }
    assert named <= known


def sentences(text: str) -> Iterator[str]:
    """Those of Markdown, without its code and the addresses of links."""
    text = re.sub(r"^( *)```.*?^\1```$|<!--.*?-->", "\n\n", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "CODE", text))
    for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*#]|\d+\.) )|\|", text):
        yield from re.split(r"(?<=[.!?:])\s+(?=[A-Z*\"\[(])", " ".join(part.split()))


def too_long(text: str) -> list[str]:
    return [said for said in sentences(text) if sum(any(map(str.isalnum, word)) for word in said.split()) > LONGEST]


@pytest.mark.parametrize("path", FOR_USERS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_sentence_for_users_is_too_long(path: Path) -> None:
    """With what is generated into the page: help of commands, options and procedures."""
    assert too_long(generated.filled(path.read_text("utf-8"))) == []


def test_no_message_has_a_sentence_that_is_too_long() -> None:
    assert [said for message in catalogue("ja") for said in too_long(message)] == []
    assert too_long(f"It is {'very ' * LONGEST}long. It is `{'not ' * LONGEST}` too long.") != []


def test_what_troubleshooting_quotes_is_what_the_program_says() -> None:
    program = "".join(path.read_text() for path in (ROOT / "keisoku").rglob("*.py"))
    program = re.sub(r'"\s*\n\s*f?"', "", program)
    text = (ROOT / "docs" / "troubleshooting.md").read_text()
    first = [line.split("|")[1] for line in text.splitlines() if line.startswith("| ")]
    quoted = [words for cell in first for words in re.findall(r"`([^`]+)`", cell)]
    assert len(quoted) > 20
    absent = [words for words in quoted if words.removeprefix("keisoku-…") and words not in program]
    assert not [words for words in absent if not words.startswith(("keisoku-", "ip netns"))]
