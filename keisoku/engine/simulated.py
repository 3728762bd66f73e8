"""The engine whose devices and whose time are computed: a trial is a function of plan and seed.

The device is modelled in `core/src/simulated`; this file hands over the trial and reads back the
facts. It never waits for anything but the computation.
"""

from __future__ import annotations

from math import inf

from keisoku._core import Simulation
from keisoku.engine import Capabilities, FrameSink, Progress
from keisoku.errors import EngineError, PlanError
from keisoku.plan.device import Device
from keisoku.record.trial import NS_PER_S, Facts, Stream, Trial

_STAMP = "virtual time, exact"
_MIN_FRAME_BYTES = 64
_MAX_FRAME_BYTES = 16_384


class SimulatedEngine:
    """A tester with two ports on a simulated device.

    `receive_clock_ppm` is how much faster the tester's receiving clock runs than its sending one.
    Raises PlanError for a port that the device does not have.
    """

    def __init__(self, device: Device, tx_port: int = 1, rx_port: int = 2, receive_clock_ppm: float = 0.0) -> None:
        for field, port in (("tx port", tx_port), ("rx port", rx_port)):
            if not 1 <= port <= device.ports:
                raise PlanError(field, f"{device.name} has no port {port}", f"use 1 to {device.ports}")
        if tx_port == rx_port:
            raise PlanError("rx port", f"is port {tx_port}, as the tx port is", "use another port")
        self._device = device
        self._ports = (tx_port, rx_port)
        self._receive_clock_ppm = receive_clock_ppm
        self._simulation = Simulation(device.model_json(), tx_port, rx_port, receive_clock_ppm)
        self._trial: Trial | None = None

    @property
    def capabilities(self) -> Capabilities:
        """Frames above the device's own limit may be sent: it drops them."""
        return Capabilities(
            engine="simulated",
            link_bits_per_second=self._device.link_bits_per_second,
            min_frame_bytes=_MIN_FRAME_BYTES,
            max_frame_bytes=_MAX_FRAME_BYTES,
            simulated=True,
            transmit_stamp=_STAMP,
            receive_stamp=_STAMP,
        )

    def start(self, trial: Trial, stream: int, seed: int, frames: FrameSink | None = None) -> None:
        """Begins computing a trial. Raises PlanError for a size or rate that no tester could send."""
        if frames is not None:
            raise PlanError("frames", "a simulated device keeps no row for each frame", "leave out --frames")
        if not _MIN_FRAME_BYTES <= trial.frame_bytes <= _MAX_FRAME_BYTES:
            problem = f"{trial.frame_bytes} byte cannot be sent"
            raise PlanError("frame size", problem, f"use {_MIN_FRAME_BYTES} to {_MAX_FRAME_BYTES}")
        if not 0 < trial.frames_per_second < inf:
            raise PlanError("rate", f"{trial.frames_per_second:g} frames/s is no rate", "use a positive number")
        if trial.duration_ns <= 0:
            raise PlanError("duration", f"{trial.duration_ns} ns is too short", "use a positive number")
        try:
            self._simulation.start(trial.load([_stream(trial)], stream, seed))
        except ValueError as error:
            raise PlanError("trial", str(error), "correct its rate or its duration") from error
        except RuntimeError as error:
            raise EngineError(str(error)) from error
        self._trial = trial

    def wait(self, seconds: float) -> Progress:
        """In virtual time; computing goes on meanwhile."""
        if self._trial is None:
            raise EngineError("no trial was started")
        offered, forwarded, finished = self._simulation.wait(seconds)
        expected_s = _phases_s(self._trial) + self._trial.duration_ns / NS_PER_S
        return Progress(
            offered_frames=offered,
            forwarded_frames=forwarded,
            finished=finished,
            elapsed_s=expected_s if finished else expected_s * min(1.0, offered / self._trial.frames),
            expected_s=expected_s,
        )

    def stop(self) -> None:
        """Ends the trial within a millisecond or two of computing."""
        self._simulation.stop()

    def finish(self) -> tuple[Facts, float]:
        """Facts, and the virtual seconds that the trial and its phases took."""
        if self._trial is None:
            raise EngineError("no trial was started")
        trial = self._trial
        try:
            facts = Facts.model_validate_json(self._simulation.finish())
        except RuntimeError as error:
            raise EngineError(str(error)) from error
        load_ns = facts.sent.last_sent_ns if facts.interrupted else trial.duration_ns
        return facts, _phases_s(trial) + load_ns / NS_PER_S

    def close(self) -> None:
        """Nothing is left behind but a computation, which is stopped."""
        self._simulation.stop()

    def context(self) -> dict[str, object]:
        """The whole device model, so that a record can be computed again."""
        return {
            "device": f"simulated {self._device.title}",
            "engine": "simulated",
            "link_bits_per_second": self._device.link_bits_per_second,
            "model": self._device.model_dump(mode="json", by_alias=True),
            "tx_port": self._ports[0],
            "rx_port": self._ports[1],
            "receive_clock_ppm": self._receive_clock_ppm,
        }


def _phases_s(trial: Trial) -> float:
    phases = trial.phases
    learning_ns = phases.learning_wait_ns if phases.learning else 0
    return (learning_ns + phases.drain_ns + phases.rest_ns) / NS_PER_S


def _stream(trial: Trial) -> Stream:
    return Stream(
        transmit=0,
        receive=1,
        frame_bytes=(trial.frame_bytes,),
        frames_per_second=trial.frames_per_second,
        frames=trial.frames,
        tag=trial.tag,
    )
