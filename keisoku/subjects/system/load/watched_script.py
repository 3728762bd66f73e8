"""The shell script that runs a load's program at its place, and its output: one line for each step, then files.

The script keeps watch: it reads a byte now and then, and when none comes, because the connection or the process
that asked for the load is gone, it kills the program. It needs a POSIX shell, coreutils, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from shlex import quote

from keisoku.subjects.system.load.invocation import Invocation

ALIVE, GO = b".", b"g"
"""Bytes written to it: continually, and to begin."""
ALIVE_S = 1.5
SILENCE_S = 5
"""Without a byte, after which the program is killed."""
SAID, COMPLAINED = "said", "complained"
_FILE = re.compile(rb"file (\S+) +(\d+)")
_ENDED = re.compile(rb"ended (\d+)")


def script(token: str, invocation: Invocation) -> str:
    """For a POSIX shell. Every line that it says to us begins with `token`; text before that is a login greeting."""
    program = quote(invocation.arguments[0])
    given = [f"printf %s {quote(text)} > {quote(name)}" for name, text in invocation.given.items()]
    names = " ".join(quote(name) for name in (SAID, COMPLAINED, *invocation.taken))
    return "\n".join(
        [
            # Debian keeps administration commands where an ordinary user's PATH does not lead.
            'PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"',
            f"command -v {program} >/dev/null || {{ echo {token} missing; exit 0; }}",
            "folder=$(mktemp -d) || exit 1",
            "trap 'rm -rf \"$folder\"' EXIT",
            "trap 'exit 1' HUP INT TERM PIPE",
            'cd "$folder" || exit 1',
            *given,
            f"ulimit -S -n {invocation.open_files} 2>/dev/null",
            f"word() {{ timeout {SILENCE_S} dd bs=1 count=1 2>/dev/null; }}",
            f"echo {token} ready",
            'heard=.; while [ "$heard" = . ]; do heard=$(word); done',
            '[ "$heard" = g ] || exit 1',
            "exec 3<&0",
            f"{' '.join(map(quote, invocation.arguments))} </dev/null >{SAID} 2>{COMPLAINED} 3<&- &",
            "load=$!",
            f"echo {token} begun",
            '( while [ "$(word)" = . ]; do :; done; kill -9 $load ) <&3 >/dev/null 2>&1 &',
            "watch=$!",
            "exec 3<&-",
            "wait $load; code=$?",
            "kill $watch 2>/dev/null",
            f"for name in {names}; do",
            f"[ -f $name ] && {{ echo {token} file $name $(wc -c <$name); cat $name; echo; }}",
            "done",
            f"echo {token} ended $code",
        ]
    )


@dataclass
class Telling:
    """The output of a script so far. `feed` takes it in parts of any length; lines without our token are ignored."""

    token: str
    ready: bool = False
    missing: bool = False
    begun: bool = False
    code: int | None = None
    """Of the program; None until it has ended and all was told."""
    files: dict[str, bytes] = field(default_factory=dict)
    _rest: bytes = b""
    _file: tuple[str, int] | None = None

    def feed(self, part: bytes) -> None:
        """More of it."""
        self._rest += part
        while self._take():
            pass

    def texts(self) -> Mapping[str, str]:
        """The files, with what is no UTF-8 replaced."""
        return {name: content.decode("utf-8", "replace") for name, content in self.files.items()}

    def _take(self) -> bool:
        if self._file is not None:
            name, length = self._file
            if len(self._rest) < length + 1:
                return False
            self.files[name], self._rest = self._rest[:length], self._rest[length + 1 :]
            self._file = None
            return True
        line, newline, rest = self._rest.partition(b"\n")
        if not newline:
            return False
        self._rest = rest
        # A greeting may not have ended its line.
        at = line.find(self.token.encode() + b" ")
        if at >= 0:
            self._word(line[at + len(self.token) + 1 :])
        return True

    def _word(self, word: bytes) -> None:
        if word in (b"ready", b"missing", b"begun"):
            setattr(self, word.decode(), True)
        elif found := _FILE.fullmatch(word):
            self._file = found[1].decode("ascii", "replace"), int(found[2])
        elif found := _ENDED.fullmatch(word):
            self.code = int(found[1])
