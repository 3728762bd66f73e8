"""Measures the house: `python tools/house.py [--root CHECKOUT] [--small LINES]`, or `make house`.

It prints lines, and for Python and Rust the modules (files), the rooms (folders with code), the floors (modules of the
longest chain of imports), the arrows (pairs of rooms of which one imports from the other) and the circles among
modules. It ends with exit code 1, and the shortest way around each circle, if there is one.

In Python everything counts that names a module of `keisoku`: imports at the top of a file, inside functions and under
TYPE_CHECKING, and texts such as "keisoku.ground.frame.lisp" or f"keisoku.running.study.{kind}_step:measure", which
name what is imported later. The packages above a module that is imported do not count, unless they are named.

In Rust each path counts that begins with `crate`, `self`, `super` or the name of a module inside the file; `mod x;`
only declares, and tests (`mod tests`) do not count. It reads files and imports nothing of what it measures.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from pathlib import Path

Graph = dict[str, set[str]]
"""For each module, the modules that it imports."""

_NAMED = re.compile(r"keisoku(\.\w+)+(:\w+)?")
_BUILT = {"build", "target", "node_modules", "dist"}


def main() -> int:
    """Prints the measures; 1 if there is a circle."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="the checkout to measure")
    parser.add_argument("--small", type=int, help="lists Python files of fewer lines that one other file imports")
    given = parser.parse_args()
    root: Path = given.root
    python, rust, far = python_graph(root / "keisoku"), rust_graph(root / "core/src"), rust_graph(root / "far/src")
    print(f"Python    {_lines(root, 'keisoku', '*.py'):>7} lines{_measures(python, '.')}")
    print(f"Rust      {_lines(root, 'core/src', '*.rs'):>7} lines{_measures(rust, '::')}")
    print(f"far end   {_lines(root, 'far/src', '*.rs'):>7} lines{_measures(far, '::')}")
    print(f"RTL       {_lines(root, 'fpga', '*.sv'):>7} lines")
    print(f"tests     {_lines(root, 'tests', '*.py') + _lines(root, 'fpga', '*.py'):>7} lines")
    print(f"docs      {_words(root):>7} words")
    if given.small:
        for importer, module, lines in small(root, python, given.small):
            print(f"small: {module} ({lines} lines), which {importer} imports")
    circles = {"Python": circles_of(python), "Rust": circles_of(rust), "the far end": circles_of(far)}
    for language, found in circles.items():
        for size, way in found:
            print(f"circle in {language}, of {size} modules: {' → '.join([*way, way[0]])}")
    return 1 if any(circles.values()) else 0


def python_graph(package: Path) -> Graph:
    """The modules of a package (a stub stands for what is compiled), and what each of them names."""
    files = {_module(path, package): path for path in sorted(package.rglob("*.py*")) if path.suffix in (".py", ".pyi")}
    graph: Graph = {}
    for module, path in files.items():
        found = {_nearest(name, files) for name in _names(ast.parse(path.read_bytes()), module, path, files)}
        graph[module] = {other for other in found if other is not None and other != module}
    return graph


def _module(path: Path, package: Path) -> str:
    parts = [package.name, *path.relative_to(package).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _names(tree: ast.Module, module: str, path: Path, files: Mapping[str, Path]) -> Iterator[str]:
    """All names by which a file names modules; a name in a module is among them with the module's."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            of = module.split(".")[: len(module.split(".")) - node.level + (path.name == "__init__.py")]
            base = ".".join([*(of if node.level else []), *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _NAMED.fullmatch(node.value):
            yield from {node.value.partition(":")[0]} & files.keys()
        elif isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else None for part in node.values]
            if isinstance(parts[0], str) and parts[0].startswith("keisoku."):
                pattern = "".join(r"\w+" if part is None else re.escape(str(part)) for part in parts)
                yield from (name for name in files if re.fullmatch(pattern.partition(":")[0], name))


def _nearest(name: str, modules: Mapping[str, object]) -> str | None:
    """The module that a dotted name is, or is in."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name or None


def rust_graph(source: Path) -> Graph:
    """The modules of a crate, `crate` being its `lib.rs` or `main.rs`, and what the paths in each of them name."""
    files = {_rust_module(path, source): path for path in sorted(source.rglob("*.rs")) if path.stem != "tests"}
    graph: Graph = {}
    for module, path in files.items():
        text = _code(path.read_text())
        inside = set(re.findall(r"\bmod\s+(\w+)\s*;", text))
        found = {_named(name.split("::"), module, inside, files) for name in _paths(text)}
        graph[module] = {other for other in found if other is not None and other != module}
    return graph


def _rust_module(path: Path, source: Path) -> str:
    parts = ["crate", *path.relative_to(source).with_suffix("").parts]
    return "::".join(parts[:-1] if parts[-1] in ("lib", "main", "mod") else parts)


def _code(text: str) -> str:
    """Without comments, texts and tests."""
    text = re.sub(r'//[^\n]*|"(?:\\.|[^"\\])*"', "", text.split("#[cfg(test)]\nmod tests")[0])
    text = re.sub(r"/\*.*?\*/|pub\(in [^)]*\)", "", text, flags=re.DOTALL)
    for inner in re.finditer(r"\bmod\s+\w+\s*\{", text):
        end, depth = inner.end(), 1
        while depth and end < len(text):
            depth += (text[end] == "{") - (text[end] == "}")
            end += 1
        # A module inside the file: what is above it is this file.
        body = re.sub(r"(?<!:)\bsuper::", " self::", text[inner.end() : end])
        text = text[: inner.end()] + body + text[end:]
    return text


def _paths(text: str) -> Iterator[str]:
    """All paths: those of `use` with their groups taken apart, and those inside code."""
    for used in re.findall(r"\buse\s+([^;]+);", text):
        yield from _apart("".join(re.sub(r"\bas\s+\w+", "", used).split()))
    yield from re.findall(r"\b(?<!::)\w+(?:::\w+)+", re.sub(r"\buse\s+[^;]+;", "", text))


def _apart(tree: str) -> Iterator[str]:
    before, brace, rest = tree.partition("{")
    if not brace:
        yield tree
        return
    depth, part = 1, ""
    for letter in rest:
        depth += (letter == "{") - (letter == "}")
        if depth == 0 or (depth == 1 and letter == ","):
            yield from (before + each for each in _apart(part) if part)
            part = ""
        else:
            part += letter
        if depth == 0:
            return


def _named(path: list[str], module: str, inside: set[str], files: Mapping[str, Path]) -> str | None:
    """The module that a path of this module is, or is in; None for paths of other crates and of types."""
    here = module.split("::")
    if path[0] == "crate":
        here, path = here[:1], path[1:]
    elif path[0] not in ("self", "super", *inside):
        return None
    while path and path[0] in ("self", "super"):
        here, path = here[: -1 if path[0] == "super" else None], path[1:]
    found = [*here, *path]
    while found and "::".join(found) not in files:
        found.pop()
    return "::".join(found) or None


def circles_of(graph: Graph) -> list[tuple[int, list[str]]]:
    """For each set of modules that import each other: how many they are, and a shortest way around."""
    found = []
    for group in _groups(graph):
        if len(group) > 1:
            ways = [way for start in group if (way := _around(start, group, graph))]
            found.append((len(group), min(ways, key=lambda way: (len(way), way))))
    return sorted(found)


def _around(start: str, group: set[str], graph: Graph) -> list[str]:
    """The shortest way from a module to itself."""
    ways = deque([[start]])
    seen = {start}
    while ways:
        way = ways.popleft()
        for other in sorted(graph[way[-1]] & group):
            if other == start:
                return way
            if other not in seen:
                seen.add(other)
                ways.append([*way, other])
    return []


def _groups(graph: Graph) -> list[set[str]]:
    """Modules that import each other, directly or not (Kosaraju); each group after those that it imports from."""
    importers: Graph = {module: set() for module in graph}
    for module, others in graph.items():
        for other in others:
            importers[other].add(module)
    seen: set[str] = set()
    last = reversed(_after(importers, sorted(graph)))
    return [set(_after(graph, [module], seen)) for module in last if module not in seen]


def _after(graph: Graph, starts: list[str], seen: set[str] | None = None) -> list[str]:
    """Everything that can be reached, each module after what it imports unless they import each other."""
    seen = set() if seen is None else seen
    order: list[str] = []
    for start in starts:
        steps = [(start, iter(sorted(graph[start])))] if start not in seen else []
        seen.add(start)
        while steps:
            module, others = steps[-1]
            for other in others:
                if other not in seen:
                    seen.add(other)
                    steps.append((other, iter(sorted(graph[other]))))
                    break
            else:
                order.append(module)
                steps.pop()
    return order


def _measures(graph: Graph, separator: str) -> str:
    """Modules, rooms, floors, arrows and circles in words."""
    room = {module: _room(module, separator, graph) for module in graph}
    files: dict[str, int] = defaultdict(int)
    for module in graph:
        files[room[module]] += 1
    arrows = {(room[module], room[other]) for module, others in graph.items() for other in others}
    arrows = {(one, other) for one, other in arrows if one != other}
    floors: dict[str, int] = {}
    for group in _groups(graph):
        below = {other for module in group for other in graph[module]} - group
        floors.update(dict.fromkeys(group, 1 + max((floors[other] for other in below), default=0)))
    return (
        f", {len(graph)} modules in {len(files)} rooms (at most {max(files.values(), default=0)} in one), "
        f"{max(floors.values(), default=0)} floors, {len(arrows)} arrows, {len(circles_of(graph))} circles"
    )


def _room(module: str, separator: str, graph: Graph) -> str:
    """The folder of a module; that of a module with parts is the folder of its parts in Python, and its own in Rust."""
    if separator == "." and any(other.startswith(f"{module}.") for other in graph):
        return module
    return module.rpartition(separator)[0] or module


def small(root: Path, graph: Graph, lines: int) -> list[tuple[str, str, int]]:
    """Files of fewer lines that exactly one other file imports: importer, module, its lines."""
    found = []
    for module in graph:
        path = root / f"{module.replace('.', '/')}.py"
        importers = [other for other, named in graph.items() if module in named]
        if path.exists() and len(importers) == 1 and (length := len(path.read_text().splitlines())) < lines:
            found.append((importers[0], module, length))
    return sorted(found)


def _files(root: Path, folder: str, pattern: str) -> Iterator[Path]:
    for path in (root / folder).rglob(pattern):
        parts = path.relative_to(root).parts
        if not any(part in _BUILT or part.startswith(".") for part in parts):
            yield path


def _lines(root: Path, folder: str, pattern: str) -> int:
    return sum(len(path.read_text(errors="replace").splitlines()) for path in _files(root, folder, pattern))


def _words(root: Path) -> int:
    return sum(len(path.read_text().split()) for path in (*_files(root, "docs", "*.md"), *root.glob("*.md")))


if __name__ == "__main__":
    sys.exit(main())
