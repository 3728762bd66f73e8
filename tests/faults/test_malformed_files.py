"""Plans and devices that somebody wrote wrongly: one sentence, never a traceback, and what is accepted can be used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from support.malformed import malformed
from support.simulated_trials import carry_out, plan

from keisoku.errors import EngineError, KeisokuError
from keisoku.ground.simulated_device.device import read_device
from keisoku.running.measurement.plan_file import read

ROOT = Path(__file__).parents[2]
PLANS = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").glob("demo-*.toml"))}
PLANS |= {
    "clock": 'measurement = "clock stability"\nduration_s = 1.0\nevery_s = 0.1\nclock = "realtime"\n',
    "path": 'measurement = "path one-packet"\nhost = "127.0.0.1"\nbudget_s = 5.0\n',
    "stream": 'measurement = "stream tcp"\nhost = "127.0.0.1"\nsizes_bytes = [1024, 65536]\nduration_s = 0.1\n',
    "system": 'measurement = "system limit"\nsystem = "sim:e4"\nobjective = "sum_requests"\n',
}
DEVICES = {path.stem: path.read_text() for path in sorted((ROOT / "keisoku/ground/simulated_device").glob("*.toml"))}
LINE = 500
"""Characters that a sentence about a wrong file has at most."""


def refused_or_used(what: str, use: Callable[[], object]) -> bool:
    """Whether it was refused. Any other exception than ours is the failure that is looked for."""
    try:
        use()
    except KeisokuError as error:
        sentence = str(error)
        assert sentence and "\n" not in sentence and len(sentence) <= LINE, (what, sentence)
        return True
    return False


def test_malformed_plans_are_one_sentence(tmp_path: Path, cases: Callable[[int, int], range]) -> None:
    path, refused = tmp_path / "plan.toml", 0
    for seed in cases(200, 1000):
        chance = Random(seed)
        text = malformed(PLANS[chance.choice(sorted(PLANS))], chance)
        path.write_text(text, encoding="utf-8")
        refused += refused_or_used(f"seed {seed}", lambda: read(path))
    assert refused > len(cases(200, 1000)) / 4, "most mistakes are noticed"


def test_malformed_devices_are_one_sentence_or_forward(tmp_path: Path, cases: Callable[[int, int], range]) -> None:
    path, refused = tmp_path / "device.toml", 0
    trial = plan("trial", frame_bytes=[64], trial={"trial_s": 0.005, "rate_fps": 2000})
    for seed in cases(200, 1000):
        chance = Random(seed)
        path.write_text(malformed(DEVICES[chance.choice(sorted(DEVICES))], chance), encoding="utf-8")
        refused += refused_or_used(f"seed {seed}", lambda: _forwards(path, trial))
    assert refused > len(cases(200, 1000)) / 4, "most mistakes are noticed"


def _forwards(path: Path, trial: object) -> None:
    """What the device takes must end, and each frame must be accounted for."""
    _, (record,) = carry_out(trial, read_device(path))  # type: ignore[arg-type]
    facts = record.facts
    assert facts.tracked.forwarded_frames + facts.tracked.lost_frames <= facts.sent.offered_frames


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"\x00" * 4096, b"[" * 100_000, b"a = 1\n" * 100_000])
def test_files_that_are_no_text_are_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file.toml"
    path.write_bytes(content)
    assert refused_or_used("plan", lambda: read(path))
    if content:
        assert refused_or_used("device", lambda: read_device(path))


def test_a_failure_of_the_engine_is_no_refusal() -> None:
    """What this file relies on: an EngineError is ours as well."""
    assert issubclass(EngineError, KeisokuError)
