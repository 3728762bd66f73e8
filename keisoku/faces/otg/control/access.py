"""Who may use the server: tokens, and the one controller that owns the ports. The caller gives the time.

OTG has no sessions, and its clients cannot set headers. A token is therefore sent as the password of HTTP's Basic
scheme, which every client takes from its URL (https://NAME:TOKEN@HOST:8443), or as a Bearer token.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping

from keisoku.errors import Occupied, PlanError
from keisoku.faces.service.configured import OWNER_S, Owner

LEAST_TOKEN_CHARACTERS = 16


class Tokens:
    """Names and their tokens. Empty: every client has access (loopback only)."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        self._tokens = dict(tokens)

    def __bool__(self) -> bool:
        return bool(self._tokens)

    def name(self, authorization: str | None) -> str | None:
        """The name that belongs to a request's header; None if there is none."""
        return self.named(*_given(authorization))

    def named(self, user: str | None, given: str) -> str | None:
        """The name that belongs to a token, and to the user if one is given; None if there is none. A wrong token takes
        as long as a right one."""
        found = None
        for name, token in self._tokens.items():
            same = hmac.compare_digest(given.encode(), token.encode())
            if same and user in (None, name):
                found = name
        return found

    @classmethod
    def parse(cls, text: str, field: str = "tokens") -> Tokens:
        """A file of lines NAME:TOKEN. Raises PlanError naming `field`."""
        tokens: dict[str, str] = {}
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            name, colon, token = line.strip().partition(":")
            if not colon or not name:
                raise PlanError(field, f"line {number} is not NAME:TOKEN", "write one name and token on each line")
            if len(token) < LEAST_TOKEN_CHARACTERS:
                problem = f"the token of {name} is shorter than {LEAST_TOKEN_CHARACTERS} characters"
                raise PlanError(field, problem, "make one with `openssl rand -hex 16`")
            if name in tokens:
                raise PlanError(field, f"{name} has two tokens", "leave one")
            tokens[name] = token
        if not tokens:
            raise PlanError(field, "the file has no token", "write a line NAME:TOKEN")
        return cls(tokens)


class Ownership:
    """Which controller owns the ports: the one that configured some, until it frees them or sends no more requests."""

    def __init__(self) -> None:
        self._owner: str | None = None
        self._program: str | None = None
        self._heard_s = self._set_s = 0.0

    def owner(self, now_s: float) -> Owner | None:
        """None while all ports are free."""
        if self._owner is None:
            return None
        return Owner(self._owner, self._program, now_s - self._set_s, now_s - self._heard_s)

    def check(self, who: str, now_s: float, traffic: bool) -> None:
        """To be called before a request that changes something. Raises Occupied if another controller owns the
        ports."""
        silent_s = now_s - self._heard_s
        if self._owner is not None and self._owner != who and (traffic or silent_s < OWNER_S):
            remedy = "wait until it sets an empty configuration"
            raise Occupied(
                "controller", f"the ports belong to {self._owner}, whose last request was {silent_s:.0f} s ago", remedy
            )

    def changed(self, who: str, now_s: float, ports: bool, program: str | None = None) -> None:
        """A client, which calls itself `program`, changed something; afterwards there are ports, or none."""
        self._owner, self._program, self._heard_s = (who if ports else None), program, now_s

    def configured(self, now_s: float) -> None:
        """A configuration was set."""
        self._set_s = now_s

    def freed(self) -> None:
        """All ports are free again."""
        self._owner = None

    def note_request(self, who: str, now_s: float) -> None:
        """Any request."""
        if who == self._owner:
            self._heard_s = now_s


def _given(authorization: str | None) -> tuple[str | None, str]:
    """User, if the scheme has one, and token."""
    scheme, _, rest = (authorization or "").partition(" ")
    if scheme.lower() == "bearer":
        return None, rest.strip()
    if scheme.lower() == "basic":
        try:
            user, _, token = base64.b64decode(rest.strip(), validate=True).decode().partition(":")
        except ValueError:  # no base64, or no text
            return None, ""
        return user, token
    return None, ""
