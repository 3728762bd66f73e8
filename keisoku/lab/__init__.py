"""Devices under test in network namespaces: cable, bridge, router, faulty."""

from keisoku.lab.available import available
from keisoku.lab.clean import clean
from keisoku.lab.device import Lab
from keisoku.lab.faults import Applied, Faults
from keisoku.lab.port import LabPort

__all__ = ["Applied", "Faults", "Lab", "LabPort", "available", "clean"]
