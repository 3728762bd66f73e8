"""Arithmetic of a study file: an expression over figures, and its standard error from those of the figures.

It knows numbers, `+ - * / **`, `abs`, `sqrt`, `min`, `max`, and the figures that its caller looks up; nothing else.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass

from keisoku.errors import PlanError

Arguments = tuple[str | int, ...]
FUNCTIONS: dict[str, Callable[..., float]] = {"abs": abs, "sqrt": math.sqrt, "min": min, "max": max}
_TWO: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: lambda left, right: left / right,
    ast.Pow: lambda left, right: left**right,
}


@dataclass(frozen=True)
class Value:
    """A figure with its standard error (k = 1); 0 where it has none."""

    value: float
    error: float = 0.0


Lookup = Callable[[str, Arguments], Value | None]
"""A figure by name and arguments ('ours', 'figure("step", "case", "name")'); None if it was not measured."""


class Expression:
    """A parsed expression over the figures `names`. Raises PlanError for what is no arithmetic."""

    def __init__(self, text: str, names: frozenset[str]) -> None:
        self.text = text
        self._names = names
        try:
            self._tree = ast.parse(f"({text})", mode="eval").body
        except SyntaxError as error:
            raise PlanError("figure", f"'{text}' is no expression", "correct it") from error
        self.asked = self._figures(self._tree)

    def value(self, lookup: Lookup) -> Value | None:
        """None if a figure is missing, or the expression has no value (a division by zero).

        Errors propagate to first order and independently (GUM, JCGM 100:2008, 5.1.2): each figure is moved by its
        standard error by itself, wherever it occurs.
        """
        found = {asked: lookup(*asked) for asked in self.asked}
        known = {asked: value for asked, value in found.items() if value is not None}
        if len(known) < len(found):
            return None
        values = {asked: value.value for asked, value in known.items()}
        try:
            middle = self._evaluate(self._tree, values)
            moved = [
                self._evaluate(self._tree, values | {asked: value.value + value.error}) - middle
                for asked, value in known.items()
                if value.error
            ]
        except (ZeroDivisionError, ValueError, OverflowError):
            return None
        return Value(middle, math.hypot(*moved))

    def _figures(self, node: ast.expr) -> set[tuple[str, Arguments]]:
        match node:
            case ast.Constant(value=int() | float()):
                return set()
            case ast.Name(id=name) if name in self._names:
                return {(name, ())}
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._figures(operand)
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _TWO:
                return self._figures(left) | self._figures(right)
            case ast.Call(func=ast.Name(id=name), args=[*arguments], keywords=[]) if name in FUNCTIONS:
                return set().union(*(self._figures(one) for one in arguments))
            case ast.Call(func=ast.Name(id=name), keywords=[]) if name in self._names:
                return {_asked(node, self.text)}
        allowed = ", ".join(sorted(self._names | FUNCTIONS.keys()))
        raise PlanError("figure", f"'{ast.unparse(node)}' in '{self.text}' is not known", f"use numbers and {allowed}")

    def _evaluate(self, node: ast.expr, values: dict[tuple[str, Arguments], float]) -> float:
        match node:
            case ast.Constant(value=int() | float() as number):
                return number
            case ast.Name(id=name):
                return values[name, ()]
            case ast.UnaryOp(operand=operand):
                return -self._evaluate(operand, values)
            case ast.BinOp(left=left, op=operator, right=right):
                return float(_TWO[type(operator)](self._evaluate(left, values), self._evaluate(right, values)))
            case ast.Call(func=ast.Name(id=name), args=arguments) if name in FUNCTIONS:
                return float(FUNCTIONS[name](*(self._evaluate(one, values) for one in arguments)))
            case ast.Call():
                return values[_asked(node, self.text)]
        raise AssertionError(ast.dump(node))


def _asked(node: ast.Call, text: str) -> tuple[str, Arguments]:
    """What a call such as ours("row", "column") asks for."""
    assert isinstance(node.func, ast.Name)
    given: list[str | int] = []
    for one in node.args:
        if not isinstance(one, ast.Constant) or not isinstance(one.value, str | int):
            raise PlanError("figure", f"'{ast.unparse(one)}' in '{text}' is no name", "put it in quotation marks")
        given.append(one.value)
    return node.func.id, tuple(given)
