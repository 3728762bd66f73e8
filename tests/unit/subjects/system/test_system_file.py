"""Simulated systems by name and by file, and how a timetable changes their load."""

import pytest

from keisoku.errors import PlanError
from keisoku.subjects.system.opening import open_system
from keisoku.subjects.system.simulated.file import LoadChange, Timetable, builtin, read_system
from keisoku.subjects.system.simulated.model import e4

FILE = """
title = "two clients"
repeat_s = 20

[server]
request_s = 1e-3

[[client]]
name = "a"
connections = 4
line_bps = 1e9
file_bytes = 10_000

[[client]]
name = "b"
connections = 40
line_bps = 1e8
file_bytes = 10_000
pause_s = 0.1

[[load]]
at_s = 5
connections = { a = 0 }
"""


def write(tmp_path, text):
    path = tmp_path / "two.toml"
    path.write_text(text)
    return path


def test_file_is_read_and_its_load_changes_over_and_over(tmp_path):
    timetable = read_system(write(tmp_path, FILE))
    assert [client.name for client in timetable.model.clients] == ["a", "b"]
    assert timetable.model.clients[1].pause_s == 0.1
    assert [dict(timetable.load(at)) for at in (0, 4.9, 5, 19.9, 20, 25)] == [{}, {}, {"a": 0}, {"a": 0}, {}, {"a": 0}]


def test_system_is_observed_under_its_timetable(tmp_path):
    with open_system(f"sim:{write(tmp_path, FILE)}") as system:
        assert dict(system.ports) == {"a": 1e9, "b": 1e8}
        assert system.truth() is None
        first = system.observe(5)
        second = system.observe(5)
        assert first.clients[0].completed > 100 and second.clients[0].completed == 0
        assert system.truth() is not None
        system.limit({"b": 1e6})
        assert system.observe(5).clients[1].limit_bps == 1e6
        with pytest.raises(PlanError, match="no port leads to 'c'"):
            system.limit({"c": 1e6})


@pytest.mark.parametrize("name", builtin())
def test_systems_that_come_with_it_open(name):
    with open_system(f"sim:{name}") as system:
        assert system.ports["fast"] == 10e9 and "virtual" in system.facts()["time"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("request_s = 1e-3", "request_s = 0", "server.request_s"),
        ("request_s = 1e-3", "speed = 1", "no setting 'speed'"),
        ("connections = 40", 'connections = "many"', "client 2.connections"),
        ("connections = 40", "connections = -1", "below zero"),
        ('name = "b"', 'name = "a"', "one name"),
        ("{ a = 0 }", "{ c = 0 }", "no client 'c'"),
        ("{ a = 0 }", "{ a = -1 }", "negative"),
        ("at_s = 5", "at_s = 25", "repeat_s"),
        ("[server]", "[server", "not valid TOML"),
    ],
)
def test_files_that_cannot_be_are_refused_in_a_sentence(tmp_path, old, new, problem):
    with pytest.raises(PlanError, match=problem.replace("[", r"\[")):
        read_system(write(tmp_path, FILE.replace(old, new)))


@pytest.mark.parametrize("name", ["sim", "sim:", "sim:nothing", "moon:base", "sim:absent.toml"])
def test_unknown_systems_are_refused(name):
    with pytest.raises(PlanError, match=r"^system: "):
        open_system(name)


def test_loads_out_of_order_are_refused():
    with pytest.raises(PlanError, match="order"):
        Timetable("x", e4(), (LoadChange(5, {}), LoadChange(1, {})))
