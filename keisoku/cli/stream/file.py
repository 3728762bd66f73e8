"""`keisoku stream file`: a verified transfer of a file, and which of its stages limits it."""

from __future__ import annotations

from pathlib import Path

import click
from pydantic import ValidationError

from keisoku.cli.kept import kept
from keisoku.cli.observation import new_directory
from keisoku.cli.stream.analyse import ANALYSES
from keisoku.errors import PlanError
from keisoku.host.place import Place
from keisoku.stream.file.run import KIND
from keisoku.stream.file.settings import FileSettings
from keisoku.stream.file.transfer import TABLE, FileTransfer, transfer
from keisoku.stream.session import PORT, StreamSession
from keisoku.units import bit_rate


@click.command("file")
@click.argument("source", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("host", metavar="HOST[@NAMESPACE]")
@click.option("--port", default=PORT, type=click.IntRange(1, 65535), show_default=True, help="of the server")
@click.option("--name", help="of the file that is made there (default: that of SOURCE)")
@click.option("--over", type=click.Choice(["keisoku", "ftp"]), default="keisoku", show_default=True, help="by what")
@click.option("--direct", is_flag=True, help="read and write past the kernel's cache (O_DIRECT)")
@click.option("--limit-source", metavar="RATE", help="hold the source back, as if its disk was so slow")
@click.option("--limit-sink", metavar="RATE", help="hold the destination back")
@click.option("--least-runs", default=3, type=click.IntRange(2, 1000), show_default=True, help="of each stage")
@click.option("--most-runs", default=10, type=click.IntRange(2, 1000), show_default=True, help="of each stage")
@click.option("--seed", default=1, show_default=True, help="of the order of stages")
@click.option("--ftp-port", default=21, type=click.IntRange(1, 65535), show_default=True)
@click.option("--ftp-user", default="anonymous", show_default=True)
@click.option("--ftp-password", default="", envvar="KEISOKU_FTP_PASSWORD", help="or KEISOKU_FTP_PASSWORD; never kept")
@click.option("--ftp-directory", default=".", show_default=True, help="the server's --files as FTP names it")
@click.option("--out", type=click.Path(path_type=Path), help="run directory (default: runs/DATE-stream-file)")
@click.option("--json", "as_json", is_flag=True, help="print the result as JSON on standard output")
def command(
    source: Path,
    host: str,
    port: int,
    name: str | None,
    over: str,
    direct: bool,
    limit_source: str | None,
    limit_sink: str | None,
    least_runs: int,
    most_runs: int,
    seed: int,
    ftp_port: int,
    ftp_user: str,
    ftp_password: str,
    ftp_directory: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Transfers SOURCE to HOST, where 'keisoku stream serve --files DIRECTORY' runs, and verifies what came.

    \b
    keisoku stream file image.iso 192.0.2.7
    keisoku stream file image.iso 192.0.2.7 --over ftp --ftp-directory /upload

    Source disk, network and destination disk are also measured by themselves, and the one that limits is named.
    """
    place = Place.parse(host)
    if over == "ftp" and limit_sink is not None:
        raise PlanError("--limit-sink", "the FTP server writes by itself", "use its own limit, or --over keisoku")
    try:
        settings = FileSettings.model_validate(
            {
                "host": place.host,
                "port": port,
                "source": str(source),
                "name": name or source.name,
                "bytes": source.stat().st_size,
                "over": over,
                "direct": direct,
                "source_bps": None if limit_source is None else bit_rate("--limit-source", limit_source),
                "sink_bps": None if limit_sink is None else bit_rate("--limit-sink", limit_sink),
                "least_runs": least_runs,
                "most_runs": max(least_runs, most_runs),
                "seed": seed,
                "ftp_port": ftp_port,
                "ftp_user": ftp_user,
                "ftp_directory": ftp_directory,
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        field = {"bytes": "source"}.get(str(first["loc"][0]), str(first["loc"][0]))
        raise PlanError(f"--{field}", f"{first['input']!r} cannot be", first["msg"]) from error
    with StreamSession(place, port) as session:
        work = FileTransfer(session, settings, ftp_password)
        directory = new_directory(out, KIND, settings.model_dump(), {"namespace": place.namespace})
        with kept(lambda: directory, TABLE, "keisoku stream analyse"):
            transfer(work, settings, directory, lambda text: click.echo(text, err=True))
    ANALYSES.run(directory, as_json)
