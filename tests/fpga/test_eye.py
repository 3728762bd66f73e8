"""The sweep of the pins' delays through the whole instrument: the model's pins have eyes of a known place."""

import pytest
from support.fpga_bench import needs_model

from keisoku.errors import EngineError
from keisoku.ground.fpga.cable import bare_cable
from keisoku.ground.fpga.eye import TAP_PS, align_direction
from keisoku.ground.fpga.instrument import Delays, Instrument
from keisoku.ground.fpga.link import Link
from keisoku.ground.fpga.pin_loop import PinLoop
from keisoku.ground.fpga.sim import Model, Surroundings

pytestmark = needs_model

AROUND = Surroundings(phy_tx_ns=(200.0, 200.0), phy_rx_ns=(256.0, 256.0))
HALF_PS = 4000
STEP = 8


def opened(around: Surroundings) -> Instrument:
    model = Model(bare_cable(0.0), around)
    return Instrument(Link(model, "the model"), "model", model.run, model)


def test_the_eye_is_where_the_pins_have_it() -> None:
    instrument = opened(AROUND)
    try:
        found = align_direction(PinLoop(instrument), 0, 1, frames=10, step=STEP, coarse=32)
        assert (instrument.delays(0), instrument.delays(1).receive) == (
            Delays(80, max(-found.transmit.chosen, 0), max(found.transmit.chosen, 0)),
            found.receive.chosen,
        )
    finally:
        instrument.close()
    open_ps = AROUND.pin_edge_ps, HALF_PS - AROUND.pin_edge_ps
    transmit = [(edge - AROUND.transmit_pins_ps[0]) / TAP_PS for edge in open_ps]
    receive = [(AROUND.receive_pins_ps[1] - edge) / TAP_PS for edge in reversed(open_ps)]
    for eye, (first, last) in ((found.transmit, transmit), (found.receive, receive)):
        assert 0 <= eye.first - first < STEP
        # What hurts only the falling half of a clock may be missed by some frames' last bit.
        assert -2 * STEP < min(last, max(eye.settings)) - eye.last < STEP
        assert len(eye.damaged) == len(eye.settings) and max(eye.damaged) == 10


def test_without_an_eye_the_delays_stay_as_they_were() -> None:
    instrument = opened(Surroundings(phy_tx_ns=(200.0, 200.0), phy_rx_ns=(256.0, 256.0), pin_edge_ps=2500.0))
    loop = PinLoop(instrument)
    before = [instrument.delays(port) for port in (0, 1)]
    try:
        with pytest.raises(EngineError, match="no delay of the pins"), loop.taken_back():
            align_direction(loop, 0, 1, frames=2, coarse=64)
        assert [instrument.delays(port) for port in (0, 1)] == before
    finally:
        instrument.close()
