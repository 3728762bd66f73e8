"""OSPFv2 as an entry of the table of routers' protocols: what is asked of FRR for each metric and state."""

from __future__ import annotations

from keisoku.faces.otg.device.router import Answers, Document, RouterProtocol, RouterState
from keisoku.faces.otg.ospf.frr import OspfText
from keisoku.faces.otg.ospf.leaves import ospf_leaves
from keisoku.faces.otg.ospf.routers import OspfRouter, ospf_routers
from keisoku.faces.otg.ospf.states import KINDS, lsa_state, ospf_metric
from keisoku.ground.lab.frr import OSPFD


def _metric(router: OspfRouter, answers: Answers) -> Document:
    said = answers.answer("show ip ospf neighbor json"), answers.answer("show ip ospf interface traffic json")
    return ospf_metric(router, *said, answers.logged(OSPFD), answers.counted_lsas())


def _lsas(router: OspfRouter, answers: Answers) -> Document:
    return lsa_state(router, {kind: answers.answer(f"show ip ospf database {kind} json") for kind in KINDS})


OSPF = RouterProtocol(
    name="ospfv2",
    word="OSPFv2 router",
    read=ospf_routers,
    text=OspfText,
    metric=_metric,
    states={"ospfv2_lsas": RouterState("router_names", _lsas, "lsas", ("link-state-database",))},
    leaves=ospf_leaves,
    counts_lsas=True,
)
