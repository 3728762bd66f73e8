"""Nothing is left of a lab: after its end, after signals, and, once cleaned, after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from support.command_line import journal_of, namespaces_of

from keisoku.ground.host.namespace import Namespace
from keisoku.ground.host.undo import leftovers, undo, undo_left
from keisoku.ground.lab.device.lab import Lab

pytestmark = [pytest.mark.lab, pytest.mark.alone]

_CHILD = """
import sys, threading, time
from keisoku.ground.lab.device.lab import Lab
{before}
with Lab("faulty"), Lab("bridge", own_core=False):
    print("ready", flush=True)
    {inside}
"""


def _child(inside: str = "[time.sleep(0.1) for _ in range(600)]", before: str = "") -> subprocess.Popen[str]:
    program = _CHILD.format(inside=inside, before=before)
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout and child.stdout.readline() == "ready\n", child.communicate()[1]
    assert len(namespaces_of(child.pid)) == 4
    return child


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing(number):
    child = _child()
    child.send_signal(number)
    child.communicate(timeout=30)
    assert child.returncode not in (0, None)
    assert namespaces_of(child.pid) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_lab_is_made_leaves_nothing(number):
    program = (
        "from keisoku.ground.lab.device.lab import Lab\n"
        "print('ready', flush=True)\nwhile True:\n    with Lab('router'): pass"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout and child.stdout.readline() == "ready\n"
    while not namespaces_of(child.pid):
        assert child.poll() is None
        os.sched_yield()
    child.send_signal(number)
    child.communicate(timeout=30)
    assert namespaces_of(child.pid) == []


@pytest.mark.parametrize("inside", ["raise ValueError", "sys.exit(3)", "pass"])
def test_any_other_end_leaves_nothing(inside):
    program = _CHILD.format(inside=inside, before="")
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.communicate(timeout=60)[0] == "ready\n"
    assert namespaces_of(child.pid) == []


def test_what_a_killed_process_left_is_cleaned_and_nothing_else():
    child = _child()
    made = namespaces_of(child.pid)
    with Lab("cable") as lab:
        assert namespaces_of(child.pid) == made
        child.kill()
        child.communicate()
        # A lab that another process makes cleans too, and undo_left() may find what others left.
        assert {f"removed {name}" for name in made} <= set(undo_left())
        assert namespaces_of(child.pid) == [] == journal_of(child.pid)
        assert lab.ports[0].namespace_path.exists()


def test_a_new_lab_cleans_what_a_killed_process_left():
    child = _child()
    child.kill()
    child.communicate()
    with Lab("cable"):
        assert namespaces_of(child.pid) == []


def test_force_cleans_what_a_living_process_has():
    child = _child()
    mine = namespaces_of(child.pid)
    undo_left()
    assert namespaces_of(child.pid) == mine
    if others := set(leftovers(force=True)) - set(journal_of(child.pid)):
        pytest.skip(f"{others} are somebody else's, so nothing may be forced here")
    assert sorted(undo(*leftovers(force=True))) == [f"removed {name}" for name in mine]
    child.terminate()
    child.communicate(timeout=30)


def test_a_forked_child_does_not_remove_its_parents_lab():
    with Lab("cable") as lab:
        child = os.fork()
        if child == 0:
            lab.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert lab.ports[0].namespace_path.exists()


def test_a_foreign_name_is_never_touched():
    with pytest.raises(ValueError, match="not a name"):
        Namespace("default")


def test_a_lab_that_nobody_closes_ends_with_its_process():
    program = "from keisoku.ground.lab.device.lab import Lab\nLab('faulty').__enter__()\nprint('ready', flush=True)"
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.communicate(timeout=60) == ("ready\n", "")
    assert namespaces_of(child.pid) == [] == journal_of(child.pid)
