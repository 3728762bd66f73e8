"""Traffic classes of a bridge, by the precedence of IP (the upper three bits of the DSCP), 0 for all other frames."""

from __future__ import annotations

from keisoku.ground.lab.device.kernel_part import FLOWER, SKBEDIT, KernelPart

CLASSIFIERS: tuple[KernelPart, ...] = (FLOWER, SKBEDIT)
_PRIORITIES = 16


def classify(classes: int) -> list[str]:
    """What follows `filter add dev PORT`: a frame that comes in has its class as its priority inside the kernel."""
    return [
        f"ingress protocol {version} pref {2 * number + later} flower ip_tos {number << 5:#x}/0xe0 "
        f"action skbedit priority {number}"
        for number in range(1, classes)
        for later, version in enumerate(("ip", "ipv6"))
    ]


def priority_map(of_classes: list[int]) -> str:
    """A value for each priority of the kernel; priorities that are no class have that of class 0."""
    return " ".join(map(str, (of_classes + [of_classes[0]] * _PRIORITIES)[:_PRIORITIES]))
