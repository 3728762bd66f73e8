"""Devices under test in network namespaces: cable, bridge, router, firewall, NAT, tunnels, Open vSwitch, faulty."""

from keisoku.lab.available import available
from keisoku.lab.catalogue import find_device
from keisoku.lab.clean import clean
from keisoku.lab.cross_traffic import CrossTraffic
from keisoku.lab.device import Device
from keisoku.lab.faults import Applied, Faults
from keisoku.lab.hop import Hop
from keisoku.lab.lab import Lab
from keisoku.lab.passage import Passage
from keisoku.lab.path import PathLab
from keisoku.lab.path_truth import PathTruth
from keisoku.lab.port import LabPort

__all__ = [
    "Applied",
    "CrossTraffic",
    "Device",
    "Faults",
    "Hop",
    "Lab",
    "LabPort",
    "Passage",
    "PathLab",
    "PathTruth",
    "available",
    "clean",
    "find_device",
]
