"""Devices under test in network namespaces: cable, bridge, router, firewall, NAT, tunnels, Open vSwitch, faulty."""

from keisoku.lab.available import available
from keisoku.lab.catalogue import find_device
from keisoku.lab.clean import clean
from keisoku.lab.device import Device
from keisoku.lab.faults import Applied, Faults
from keisoku.lab.lab import Lab
from keisoku.lab.passage import Passage
from keisoku.lab.port import LabPort

__all__ = ["Applied", "Device", "Faults", "Lab", "LabPort", "Passage", "available", "clean", "find_device"]
