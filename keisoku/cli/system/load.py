"""`keisoku app load`: HTTP requests from one or many clients at once, and how fast they were answered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from keisoku.cli.observation import new_directory
from keisoku.cli.options import seconds
from keisoku.cli.system.analyse import ANALYSES
from keisoku.errors import PlanError
from keisoku.lab.system.name import find_system, is_system
from keisoku.system.load import run as load_run
from keisoku.system.load.bulk_servers import bulk_aims
from keisoku.system.load.clients import BULK, CLIENTS, find_client
from keisoku.system.load.schedule import LoadSchedule
from keisoku.system.load.ssh_hosts import SshHosts
from keisoku.system.load.target import HTTP, TCP, Aim, lab_aims, url_aims


@click.command("load")
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("--with", "client", default="own", show_default=True, help=f"client: {', '.join(CLIENTS)}")
@click.option(
    "--concurrency", metavar="N,N,...", help="connections, or streams, of each client (default: 10; streams: 1)"
)
@click.option("--client-concurrency", "own", multiple=True, metavar="CLIENT=N", help="of one client, at all times")
@click.option("--per-second", type=float, metavar="RATE", help="open loop: requests of each client, whatever happens")
@click.option("--poisson", is_flag=True, help="of an open loop: gaps at random")
@click.option("--keep-alive", is_flag=True, help="many requests on a connection (default: one)")
@click.option("--requests", type=int, metavar="N", help="of each client, then it ends")
@click.option("--duration", default=None, metavar="TIME", help="of each run (default: 5s, if no --requests)")
@click.option("--each-file", is_flag=True, help="one file of a lab after the other, not all by weight")
@click.option("--offset", "offsets", multiple=True, metavar="CLIENT=TIME", help="begin later than the others")
@click.option(
    "--pattern",
    default="together",
    show_default=True,
    metavar="WHO,WHO,...",
    help="who loads at once: alone, together, or some as client1+client2",
)
@click.option("--repetitions", type=int, default=3, show_default=True)
@click.option("--rest", default="1s", show_default=True, metavar="TIME", help="between runs")
@click.option("--timeout", default="10s", show_default=True, metavar="TIME", help="a request without answer has failed")
@click.option(
    "--ssh-config",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="ssh's configuration, in place of your own",
)
@click.option("--seed", type=int, default=1, show_default=True, help="of the order, the files and the gaps")
@click.option("--out", type=click.Path(path_type=Path), help="run directory (default: runs/DATE-KIND)")
@click.option("--json", "as_json", is_flag=True, help="print the result as JSON on standard output")
def command(targets: tuple[str, ...], out: Path | None, as_json: bool, ssh_config: Path | None, **given: Any) -> None:
    """Requests/s, bytes/s and latencies of clients that load web servers, each and together; or bit/s of TCP in bulk.

    TARGET is a system of the lab, or one URL for each client, from the namespace named or a host over ssh.

    \b
    keisoku app load 'lab:system?clients=2&rates=1G,none&file=1430' --with ab --concurrency 10,100
    keisoku app load 'lab:system?clients=5' --concurrency 100 --client-concurrency client5=1000 --pattern alone,together
    keisoku app load http://192.0.2.7/index.html --per-second 500 --poisson --concurrency 1000
    keisoku app load http://192.0.2.7/a@one http://192.0.2.7/b@two   # two clients, in two namespaces
    keisoku app load http://192.0.2.7/a@ssh://me@192.0.2.8 http://192.0.2.7/a@ssh://me@192.0.2.9 --with wrk
    keisoku app load 'lab:system?rates=1G,1G,none' --with stream --pattern alone,client1+client2,together
    """
    find_client(given["client"])
    with _aims(targets, given["client"]) as (aims, facts), SshHosts(ssh_config) as hosts:
        campaign = _campaign(aims, given)
        settings = {"target": " ".join(targets), **given}
        directory = new_directory(out, load_run.KIND, settings, facts)
        campaign.run(
            lambda trial, runs: load_run.append(directory, trial, runs), lambda text: click.echo(text, err=True), hosts
        )
    ANALYSES.run(directory, as_json)


@contextmanager
def _aims(targets: Sequence[str], client: str) -> Iterator[tuple[list[Aim], dict[str, object]]]:
    bulk = client in BULK
    if not is_system(targets[0]):
        yield url_aims(targets, TCP if bulk else HTTP), {}
        return
    if len(targets) > 1:
        raise PlanError("target", "there is one lab at a time", "give it alone")
    with ExitStack() as stack:
        lab = stack.enter_context(find_system(targets[0].removeprefix("lab:"), "target"))
        yield stack.enter_context(bulk_aims(lab)) if bulk else lab_aims(lab), {"lab": lab.context()}


def _campaign(aims: Sequence[Aim], given: dict[str, Any]) -> LoadSchedule:
    own = _pairs("--client-concurrency", given["own"], aims)
    offsets = _pairs("--offset", given["offsets"], aims)
    concurrency = given["concurrency"] or ("1" if given["client"] in BULK else "10")
    concurrencies = tuple(_count("--concurrency", part) for part in concurrency.split(","))
    duration = given["duration"] or (None if given["requests"] else "5s")
    loads = tuple(
        aim.load(
            connections=_count("--client-concurrency", own[aim.name]) if aim.name in own else concurrencies[0],
            per_second=given["per_second"],
            poisson=given["poisson"],
            keep_alive=given["keep_alive"],
            requests=given["requests"],
            seconds=seconds("--duration", duration),
            offset_s=_time("--offset", offsets.get(aim.name, "0")),
            timeout_s=_time("--timeout", given["timeout"]),
        )
        for aim in aims
    )
    return LoadSchedule(
        client=given["client"],
        loads=loads,
        patterns=tuple(dict.fromkeys(given["pattern"].split(","))),
        concurrencies=concurrencies,
        fixed=frozenset(own),
        repetitions=given["repetitions"],
        rest_s=_time("--rest", given["rest"]),
        seed=given["seed"],
        each_file=_files(aims) if given["each_file"] else (),
    )


def _files(aims: Sequence[Aim]) -> tuple[str, ...]:
    """Of which all clients ask."""
    files = {path for path, _ in aims[0].paths}
    if any({path for path, _ in aim.paths} != files for aim in aims):
        raise PlanError("--each-file", "the clients do not ask for the same files", "leave it away, or load a lab")
    return tuple(path for path, _ in aims[0].paths)


def _pairs(option: str, texts: Sequence[str], aims: Sequence[Aim]) -> dict[str, str]:
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in {aim.name for aim in aims}:
            raise PlanError(option, f"'{text}' names no client", f"write for example {aims[0].name}=…")
        found[name] = value
    return found


def _count(option: str, text: str) -> int:
    if not text.strip().isdecimal():
        raise PlanError(option, f"'{text}' is no whole number", "give for example 100")
    return int(text)


def _time(option: str, text: str) -> float:
    return 0.0 if text.strip() in ("0", "0s", "0 s") else seconds(option, text) or 0.0
