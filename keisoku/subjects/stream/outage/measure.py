"""Carries a measurement of interruptions out: sends while the course goes on, and keeps what both ends have seen."""

from __future__ import annotations

import json
import time
from typing import Any

from keisoku.ground.entry import Work
from keisoku.ground.observer import Observer
from keisoku.language import phrase, plural
from keisoku.subjects.stream.outage.course import Course
from keisoku.subjects.stream.outage.session import OutageSession
from keisoku.subjects.stream.outage.settings import OutageSettings

RECORD = "record.jsonl"
_LOOK_S = 0.1
_LINGER_S = 0.5
"""For packets that are under way at the end."""
_KEEP_S, _KEEP_AGAIN = 5.0, 1.25
"""What was seen is kept after so long, and each further time after a quarter more of all."""


def measure_outage(work: Work[OutageSettings], tcp: bool) -> None:
    """Over TCP connections, or by datagrams.

    Raises EngineError if the far end does not let this one in, or a command fails.
    """
    settings = work.settings
    session = OutageSession(settings, tcp)
    try:
        directory = work.begin({"far": settings.address})
        with Course(settings) as course:
            _watch(work, session, course, lambda record: directory.append_line(RECORD, record))
            marks = course.marks
        directory.append_line(RECORD, last_record(session, marks))
    finally:
        session.close()


def last_record(session: OutageSession, marks: list[dict[str, Any]]) -> bytes:
    """Ends the sending, asks the far end, and gives all that is known as a line of JSON."""
    ended_ns = time.monotonic_ns()
    session.near.quiet()
    time.sleep(_LINGER_S)
    far = session.far_record()
    time.sleep(_LINGER_S)
    return _record(session, far, marks, ended_ns)


def _watch(work: Work[OutageSettings], session: OutageSession, course: Course, keep: Any) -> None:
    settings, begun_s = work.settings, time.monotonic()
    keep_s = _KEEP_S
    while not course.is_over():
        time.sleep(_LOOK_S)
        elapsed_s = time.monotonic() - begun_s
        glance = json.loads(session.near.glance())
        _say(work.observer, settings, glance, elapsed_s)
        session.keep_up(glance)
        if elapsed_s >= keep_s:
            keep(_record(session, None, course.marks, time.monotonic_ns()))
            keep_s = elapsed_s * _KEEP_AGAIN


def _say(observer: Observer, settings: OutageSettings, glance: dict[str, Any], elapsed_s: float) -> None:
    quiet_ns = (settings.silence_s + settings.interval_s) * 1e9
    silent = [glance["now_ns"] - heard_ns for heard_ns in glance["heard_ns"]]
    away = [ns for ns in silent if ns > quiet_ns]
    if away:
        said = plural(
            "nothing has come on {count} flow for {longest:.1f} s",
            "nothing has come on {count} flows for {longest:.1f} s",
            count=len(away),
            longest=min(max(away) / 1e9, elapsed_s),
        )
    else:
        said = phrase("{sent} sent, {received} received", sent=glance["sent"], received=glance["received"])
    length_s = settings.length_s
    observer.came_to(elapsed_s, elapsed_s if length_s is None else max(length_s, elapsed_s), said)


def _record(session: OutageSession, far: dict[str, Any] | None, marks: list[dict[str, Any]], ended_ns: int) -> bytes:
    """One line with all that is known until now: the last line of a run is the whole of it."""
    near = json.loads(session.near.record())
    record = {"near": near, "far": far, "sessions": session.sessions, "marks": marks, "ended_ns": ended_ns}
    return json.dumps(record, separators=(",", ":")).encode()
