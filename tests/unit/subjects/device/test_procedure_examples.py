"""The example in the help of each procedure."""

from __future__ import annotations

import shlex

import pytest

from keisoku.ground.lab.device.catalogue import find_device as lab_device
from keisoku.ground.simulated_device.device import list_devices
from keisoku.subjects.device.table import PROCEDURES

DEVICES = {
    name: word.partition(":")
    for name, procedure in PROCEDURES.items()
    for word in shlex.split(procedure.example)
    if word.startswith(("lab:", "sim:")) and not word.endswith(".toml")
}


@pytest.mark.parametrize("name", DEVICES)
def test_its_device_exists(name: str) -> None:
    """That of telemetry named a device of the lab that never was."""
    kind, _, device = DEVICES[name]
    if kind == "lab":
        assert lab_device(device.partition("#")[0])
    else:
        assert device.partition("#")[0] in {one.name for one in list_devices()}
