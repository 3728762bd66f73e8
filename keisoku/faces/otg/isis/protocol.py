"""IS-IS as an entry of the table of routers' protocols: what is asked of FRR for each metric and state."""

from __future__ import annotations

from keisoku.faces.otg.device.router import Answers, Document, RouterProtocol, RouterState
from keisoku.faces.otg.isis.frr import IsisText
from keisoku.faces.otg.isis.leaves import isis_leaves
from keisoku.faces.otg.isis.routers import IsisRouter, isis_routers
from keisoku.faces.otg.isis.states import adjacency_state, isis_metric, lsp_state
from keisoku.ground.lab.frr import ISISD

_ADJACENCIES = "show isis neighbor detail json"


def _metric(router: IsisRouter, answers: Answers) -> Document:
    said = answers.answer("show isis summary json"), answers.answer(_ADJACENCIES)
    return isis_metric(router, *said, answers.printed("show isis database"), answers.logged(ISISD))


def _lsps(router: IsisRouter, answers: Answers) -> Document:
    return lsp_state(router, answers.printed("show isis database detail"), answers.printed("show isis hostname"))


def _adjacencies(router: IsisRouter, answers: Answers) -> Document:
    kernel = {name: interface.name for name, interface in answers.interfaces.items()}
    return adjacency_state(router, answers.answer(_ADJACENCIES), kernel)


ISIS = RouterProtocol(
    name="isis",
    word="IS-IS router",
    read=isis_routers,
    text=IsisText,
    metric=_metric,
    states={
        "isis_lsps": RouterState("isis_router_names", _lsps, "lsps", ("link-state-database",)),
        "isis_adjacencies": RouterState("isis_router_names", _adjacencies, "adjacencies", ("adjacencies",)),
    },
    leaves=isis_leaves,
)
