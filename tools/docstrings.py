"""Reads what is public in `keisoku/`: `python3 tools/docstrings.py [--root CHECKOUT] [--all] [--write]`.

- sentence: a docstring begins with a capital or a code word, and its first paragraph ends as a sentence does.
- unit: a function that takes or returns a float or an array says its unit: in the name of each (`wait_ns`, `share`), or
  in the docstring, in which a ratio is called one.
- raises: a function with a `raise` of a KeisokuError says "Raises"; a command does not, as its docstring is its help.

What stood before there was this check is counted by file in tools/docstrings_left.txt. The check fails if a file has
more than that, and if it has less, until `--write` has written the lower number; `--write` never raises the sum.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef

_FLOATS = {"float", "floating", "NDArray", "ndarray"}
_NO_FIGURES = {"bool", "bool_", "str_", "object_", "uint8", "void"}
"""Arrays of these have no unit of their own: truths, texts, raw bytes, and rows with names."""
_SUFFIX = re.compile(
    r"(^|_)([fpnum]?s|ms|us|seconds|minutes|hours|days|[kmg]?bps|fps|pps|rps|per_(s|second)|bytes?|bits?|octets|percent|"
    r"[kmg]?hz|pp[mb]|db|w|watts?|j|[nu]j|joules?|volts?|celsius|per_byte|opacity|cycles|ticks|frames|packets|"
    r"shares?|ratios?|factors?|fractions?|rpm|probability|confidence|level|odds|relative|counts?|version)(_|$)|_m$"
)
_WORD = re.compile(
    r"(?<![\w.'’-])(ns|µs|us|ms|s|m|b(it)?/s|[kMGT]b(it)?/s|[kMG]i?B|[kMG]?Hz|pp[mb]|W|J|V|°C|dB|[a-z]+/s|"
    r"(?i:seconds?|minutes?|hours?|days?|bits?|bytes?|octets?|(per|a) second|joules?|cycles?|ticks?|percent|shares?|"
    r"ratios?|factors?|fractions?|relative|dimensionless|probabilit(y|ies)|quantiles?|likelihoods?|weights?|opacity|degrees|"
    r"pixels?|units?|numbers? of|how many|times as))(?![\w-])|%"
)
_PROGRAMS = {"keisoku", "keisoku's", "netperf's", "oha", "oha's", "taprio", "wrk"}


class Fault(NamedTuple):
    """One docstring that does not say what it has to."""

    path: str
    line: int
    rule: str
    name: str


def main() -> int:
    """Prints the faults of files that have more or less of them than before; 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="the checkout to read")
    parser.add_argument("--all", action="store_true", help="prints the faults that are allowed, too")
    parser.add_argument("--write", action="store_true", help="writes the numbers that are left, if their sum is lower")
    given = parser.parse_args()
    faults = faults_of(given.root)
    table: Path = given.root / "tools/docstrings_left.txt"
    left, before = Counter(fault.path for fault in faults), _read(table)
    print(f"docstrings  {len(faults):>5} faults: {', '.join(f'{n} {rule}' for rule, n in _by_rule(faults))}")
    if given.write and (left.total() <= before.total() or not table.exists()):
        table.write_text("".join(f"{count} {path}\n" for path, count in sorted(left.items())))
        return 0
    more = {path for path in left if left[path] > before[path]}
    for fault in faults:
        if given.all or fault.path in more:
            print(f"{fault.path}:{fault.line}: {fault.rule}: {fault.name} (of {before[fault.path]} allowed here)")
    less = [path for path in sorted(before) if left[path] < before[path]]
    for path in less:
        print(f"{path}: {left[path]} of {before[path]} are left; keep that by `python3 tools/docstrings.py --write`")
    return 1 if more or less else 0


def faults_of(root: Path) -> list[Fault]:
    """All faults of the package, by file and line."""
    trees = {path: ast.parse(path.read_text()) for path in sorted((root / "keisoku").rglob("*.py"))}
    bases = _bases(trees.values())
    errors, floats = _errors(bases), _FLOATS | (set(_aliases(trees.values())) - set(bases))
    return [
        Fault(str(path.relative_to(root)), line, rule, name)
        for path, tree in trees.items()
        for line, rule, name in _of_module(tree, errors, floats)
    ]


def _of_module(tree: ast.Module, errors: set[str], floats: set[str]) -> Iterator[tuple[int, str, str]]:
    if _incomplete(text := ast.get_docstring(tree) or ""):
        yield 1, "sentence", text.partition("\n")[0]
    for node, name in _public(tree, ""):
        text = ast.get_docstring(node) or ""
        if _incomplete(text):
            yield node.lineno, "sentence", f"{name}: {text.partition(chr(10))[0]}"
        if isinstance(node, ast.ClassDef):
            continue
        if not _WORD.search(text) and (without := list(_without_unit(node, floats))):
            yield node.lineno, "unit", f"{name}: {', '.join(without)}"
        raised = [] if _is_command(node) else sorted(_raised(node) & errors)
        if raised and not re.search(r"\braises?\b", text, re.IGNORECASE):
            yield node.lineno, "raises", f"{name}: {', '.join(raised)}"


def _public(node: ast.Module | ast.ClassDef, within: str) -> Iterator[tuple[ast.ClassDef | Function, str]]:
    for inner in node.body:
        if isinstance(inner, ast.ClassDef | Function) and not inner.name.startswith("_"):
            yield inner, within + inner.name
            if isinstance(inner, ast.ClassDef):
                yield from _public(inner, f"{within}{inner.name}.")


def _incomplete(text: str) -> bool:
    if not text:
        return False
    first = text.partition("\n\n")[0].strip()
    word = first.split()[0].rstrip(",:.")
    code = not word.isalpha() and not _WORD.fullmatch(word)
    begins = first[0].isupper() or word in _PROGRAMS or code or not word.islower()
    return not begins or not re.search(r"[.?!:…][\"')`]*$", first)


def _without_unit(node: Function, floats: set[str]) -> Iterator[str]:
    """Names of the parameters that are floats, or `return`, and do not say their unit."""
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    for name, annotation in [(one.arg, one.annotation) for one in arguments] + [(node.name, node.returns)]:
        words = _words(annotation)
        if words & floats and not words & _NO_FIGURES and not _SUFFIX.search(name):
            yield "return" if name == node.name and annotation is node.returns else name


def _words(annotation: ast.expr | None) -> set[str]:
    if annotation is None:
        return set()
    named = {one.id for one in ast.walk(annotation) if isinstance(one, ast.Name)}
    return named | {one.attr for one in ast.walk(annotation) if isinstance(one, ast.Attribute)}


def _raised(node: ast.AST) -> set[str]:
    """Names of the classes that a function raises itself, and not by a function inside it."""
    found = set()
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.Raise) and inner.exc is not None:
            made = inner.exc.func if isinstance(inner.exc, ast.Call) else inner.exc
            found |= {made.id} if isinstance(made, ast.Name) else set()
        if not isinstance(inner, Function | ast.Lambda | ast.ClassDef):
            found |= _raised(inner)
    return found


def _is_command(node: Function) -> bool:
    """The docstring of a command is its help; a user meets the error itself."""
    return any(words & {"command", "group"} for words in map(_words, node.decorator_list))


def _bases(trees: Iterable[ast.Module]) -> dict[str, set[str]]:
    """Of each class the names of those that it is made from."""
    return {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }


def _errors(bases: dict[str, set[str]]) -> set[str]:
    """The names of all classes below KeisokuError."""
    found = {"KeisokuError"}
    while more := {name for name, above in bases.items() if above & found} - found:
        found |= more
    return found


def _aliases(trees: Iterable[ast.Module]) -> Iterator[str]:
    """Names that stand for a kind of array, such as `Floats = NDArray[np.float64]`."""
    for tree in trees:
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
                words = _words(node.value)
                if words & {"NDArray", "ndarray"} and not words & _NO_FIGURES:
                    yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _by_rule(faults: Sequence[Fault]) -> list[tuple[str, int]]:
    return sorted(Counter(fault.rule for fault in faults).items())


def _read(table: Path) -> Counter[str]:
    lines = [line.split() for line in table.read_text().splitlines()] if table.exists() else []
    return Counter({path: int(count) for count, path in lines})


if __name__ == "__main__":
    sys.exit(main())
