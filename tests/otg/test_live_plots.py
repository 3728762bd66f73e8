"""What the server's page draws while a measurement without trials of frames runs."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from keisoku.faces.service.runs import Runs
from keisoku.faces.service.web.live import pictures
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd

HERE = Place("127.0.0.1")


def far(port: int) -> dict[str, Any]:
    return {"host": "127.0.0.1", "port": port}


def course_of(folder: Path, document: dict[str, Any]) -> Any:
    """The moments of a run that is over."""
    runs = Runs(folder)
    name = runs.start(document).run
    for thread in threading.enumerate():
        if thread.name == "keisoku-run":  # to ask for its state all the time would slow it down
            thread.join()
    assert runs.status(name).state == "finished", runs.status(name).error
    return runs.course(name)


def test_a_trial_of_frames_shows_load_loss_and_latency(tmp_path: Path) -> None:
    asked = {"methods": ["loss"], "dut": "sim:catalyst2960g", "frame_bytes": [64], "loss": {"trial_s": 0.05}}
    course = course_of(tmp_path, asked)
    assert drawn(course) == ["Rate", "Not arrived until now", "Mean latency of each trial"]
    assert all(0 <= moment.loss_percent <= 100 and moment.bits_per_second is None for moment in course)


def drawn(course: Any) -> list[str]:
    return [title.partition(",")[0] for title, *_ in pictures(course)]


def test_streams_show_the_rate_of_each_trial(tmp_path: Path) -> None:
    with FarEnd("stream", HERE) as far_end:
        asked = {"measurement": "stream tcp", "size_bytes": [4096, 65536], "duration_s": 0.1, "ceiling": "none"}
        course = course_of(tmp_path, {**asked, **far(far_end.port)})
    assert drawn(course) == ["Received in each trial"]
    assert any(moment.bits_per_second > 0 for moment in course)  # a busy host may receive nothing in a short trial
    assert {moment.of for moment in course} == {"4096 byte", "65536 byte"}
    ((_, picture, _),) = pictures(course)
    assert picture.count('class="curve"') == 2


@pytest.mark.parametrize("kind", ["rr", "udp-rr"])
def test_transactions_show_what_failed_and_how_long_they_took(tmp_path: Path, kind: str) -> None:
    with FarEnd("stream", HERE) as far_end:
        course = course_of(tmp_path, {"measurement": f"stream {kind}", "duration_s": 0.1, **far(far_end.port)})
    assert drawn(course) == ["Not arrived until now", "Mean latency of each trial"]
    assert all(0 <= moment.loss_percent < 100 and moment.latency_ns > 0 for moment in course)


def test_a_path_shows_its_delay_and_what_was_not_answered(tmp_path: Path) -> None:
    with FarEnd("reflect", HERE) as far_end:
        asked = {"measurement": "path delay", "packets": 2500, "interval_s": 0.001, "wait_s": 0.1, **far(far_end.port)}
        course = course_of(tmp_path, asked)
    assert len(course) > 1 and drawn(course) == ["Not arrived until now", "Mean latency of each trial"]
