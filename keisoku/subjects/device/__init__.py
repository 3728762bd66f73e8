"""What a network device does to every frame: plans, methods, engines, records, calibration.

Its procedures have a line each here: the group of the list of all commands, the name, and the module of the entry.
"""

from keisoku.subjects.device.table import GROUPS

GROUPS.update(
    {
        "Start here": {
            "throughput": "keisoku.subjects.device.procedure.rfc2544.throughput",
            "latency": "keisoku.subjects.device.procedure.rfc2544.latency",
            "loss": "keisoku.subjects.device.procedure.rfc2544.loss",
            "cost": "keisoku.subjects.device.procedure.own.cost",
        },
        "RFC 2544 and its successors": {
            "trial": "keisoku.subjects.device.procedure.own.trial",
            "delay": "keisoku.subjects.device.procedure.rfc8219.delay",
            "delay_variation": "keisoku.subjects.device.procedure.rfc8219.delay_variation",
            "reordering": "keisoku.subjects.device.procedure.rfc4737.reordering",
            "back_to_back": "keisoku.subjects.device.procedure.rfc2544.back_to_back",
            "recovery": "keisoku.subjects.device.procedure.rfc2544.recovery",
            "reset": "keisoku.subjects.device.procedure.rfc2544.reset",
            "convergence": "keisoku.subjects.device.procedure.rfc6412.convergence",
            "sweep": "keisoku.subjects.device.procedure.own.sweep",
            "buffer_over_time": "keisoku.subjects.device.procedure.own.buffer_over_time",
            "clock_mismatch": "keisoku.subjects.device.procedure.own.clock_mismatch",
            "changes": "keisoku.subjects.device.procedure.own.changes",
            "calibrate": "keisoku.subjects.device.procedure.own.calibrate",
            "mlr": "keisoku.subjects.device.procedure.rfc9971.mlr",
            "critical_load": "keisoku.subjects.device.procedure.own.critical_load",
        },
        "Switches": {
            "line_rate": "keisoku.subjects.device.procedure.rfc8239.line_rate",
            "buffering": "keisoku.subjects.device.procedure.rfc8239.buffering",
            "microburst": "keisoku.subjects.device.procedure.rfc8239.microburst",
            "head_of_line": "keisoku.subjects.device.procedure.rfc8239.head_of_line",
            "incast": "keisoku.subjects.device.procedure.rfc8239.incast",
            "qos": "keisoku.subjects.device.procedure.rfc4689.qos",
            "marking": "keisoku.subjects.device.procedure.rfc3168.marking",
            "forwarding": "keisoku.subjects.device.procedure.rfc2889.forwarding",
            "congestion": "keisoku.subjects.device.procedure.rfc2889.congestion",
            "forward_pressure": "keisoku.subjects.device.procedure.rfc2889.forward_pressure",
            "address_caching": "keisoku.subjects.device.procedure.rfc2889.address_caching",
            "address_learning": "keisoku.subjects.device.procedure.rfc2889.address_learning",
            "errored_frames": "keisoku.subjects.device.procedure.rfc2889.errored_frames",
            "broadcast": "keisoku.subjects.device.procedure.rfc2889.broadcast",
            "multicast": "keisoku.subjects.device.procedure.rfc3918.multicast",
            "group_delay": "keisoku.subjects.device.procedure.rfc3918.group_delay",
            "group_capacity": "keisoku.subjects.device.procedure.rfc3918.group_capacity",
            "port_map": "keisoku.subjects.device.procedure.own.port_map",
            "balance": "keisoku.subjects.device.procedure.balance.balance",
            "telemetry": "keisoku.subjects.device.procedure.telemetry.telemetry",
        },
        "NATs and firewalls": {
            "connection_capacity": "keisoku.subjects.device.procedure.rfc9693.connection_capacity",
            "connection_rate": "keisoku.subjects.device.procedure.rfc9693.connection_rate",
            "connection_teardown": "keisoku.subjects.device.procedure.rfc9693.connection_teardown",
            "connection_throughput": "keisoku.subjects.device.procedure.rfc9693.connection_throughput",
        },
    }
)
