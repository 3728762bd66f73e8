"""What a shell offers when the tab key is pressed, and that it need not wait for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import completion_words
import pytest

from keisoku.faces.cli.completing import Offer, answer, offers
from keisoku.faces.cli.lazy_group import LazyGroup
from keisoku.faces.cli.main import keisoku

_MOST_MODULES = 80
"""Modules of the standard library; click alone would be 120 more, and numpy 400."""


def _offered(line: str) -> list[str]:
    found = answer("bash_complete", {"COMP_LINE": line}).splitlines()
    return [each.partition(",")[2] for each in found]


def test_what_is_offered_is_made_of_the_commands() -> None:
    assert completion_words.FOUND.read_text("utf-8") == completion_words.text(), (
        "run: python packaging/completion_words.py"
    )


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("keisoku through", ["throughput"]),
        ("keisoku path one", ["one-packet"]),
        ("keisoku throughput --verb", ["--verbose"]),
        ("keisoku throughput --dut sim:gs", ["gs908e"]),  # bash replaces what stands behind the colon
        ("keisoku throughput --dut=sim:gs", ["gs908e"]),
        ("keisoku throughput --dut lab:vxl", ["vxlan"]),
        ("keisoku throughput --profile ", ["quick", "short", "rfc"]),
        ("keisoku throughput --profile=q", ["quick"]),
        ("keisoku --verb", []),
        ("keisoku latency --require 'p99 <= 1ms' --dut sim:gs", ["gs908e"]),
        ("keisoku latency --require 'p99 <", []),
        ("keisoku study e1-l", ["e1-l2", "e1-l3"]),
        ("keisoku lab bri", ["bridge"]),
        ("keisoku ab through", ["throughput"]),
        ("keisoku ab throughput --dut sim:gs", ["gs908e"]),
        ("keisoku ab throughput --pai", ["--pairs"]),
        ("keisoku completion f", ["fish"]),
        ("keisoku nonsense ", []),
    ],
)
def test_commands_options_and_values_are_offered(line: str, offered: list[str]) -> None:
    assert _offered(line) == offered


def test_ports_are_those_of_this_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "listdir", lambda path: ["lo", "eth1", "eth2"])
    assert _offered("keisoku throughput --tx e") == ["eth1", "eth2"]
    assert _offered("keisoku throughput --tx afxdp:") == ["eth1", "eth2"]
    assert [each.word for each in offers(["throughput", "--ports"], "xdp:eth1,xdp:eth2")] == ["xdp:eth1,xdp:eth2"]


def test_files_are_left_to_the_shell() -> None:
    assert answer("bash_complete", {"COMP_LINE": "keisoku run exa"}) == "file,exa\n"
    assert offers(["throughput", "--out"], "ru") == [Offer("file", "ru")]


def test_zsh_and_fish_are_answered_in_their_forms() -> None:
    asked = {"COMP_WORDS": "keisoku study e1-l", "COMP_CWORD": "2"}
    assert answer("zsh_complete", asked) == "plain\ne1-l2\n_\nplain\ne1-l3\n_\n"
    assert answer("zsh_complete", {"COMP_WORDS": "keisoku device", "COMP_CWORD": "1"}).startswith(
        "plain\ndevices\nLists"
    )
    assert (
        answer("fish_complete", {"COMP_WORDS": "keisoku study e1-l", "COMP_CWORD": "e1-l"})
        == "plain,e1-l2\nplain,e1-l3\n"
    )
    assert answer("fish_complete", {"COMP_WORDS": "keisoku study", "COMP_CWORD": ""}).startswith("plain,e1\n")


def test_every_command_is_offered() -> None:
    assert isinstance(keisoku, LazyGroup)
    assert [each.word for each in offers([], "")] == keisoku.list_commands(keisoku.make_context("keisoku", ["devices"]))


@pytest.mark.parametrize("line", ["keisoku ", "keisoku throughput --", "keisoku throughput --dut ", "keisoku study "])
def test_an_answer_imports_little(line: str) -> None:
    program = "import sys; from keisoku.faces.cli.entry import main; main(); print(*sys.modules, file=sys.stderr)"
    environment = os.environ | {"_KEISOKU_COMPLETE": "bash_complete", "COMP_LINE": line}
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout
    loaded = done.stderr.split()
    own = {"keisoku", *(f"keisoku.faces{below}" for below in ("", ".cli", ".cli.entry", ".cli.completing"))}
    assert {name for name in loaded if name.startswith("keisoku")} == own
    assert not {"click", "rich", "pydantic", "numpy", "asyncio", "subprocess", "importlib.metadata"} & {*loaded}
    assert len(loaded) <= _MOST_MODULES, loaded


def test_bash_itself_completes() -> None:
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("no bash")
    script = (
        f'keisoku() {{ "{sys.executable}" -m keisoku "$@"; }}\neval "$(keisoku completion bash)"\n'
        "COMP_LINE='keisoku throughput --dut sim:gs'; COMP_POINT=${#COMP_LINE}\n"
        "compopt() { :; }\n_keisoku_completion keisoku; printf '%s\\n' \"${COMPREPLY[@]}\"\n"
    )
    done = subprocess.run([shell, "--norc", "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["gs908e"], done.stderr
