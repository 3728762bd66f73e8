"""All figures of all procedures on twenty simulated devices: a difference is looked at before it is kept."""

from difflib import unified_diff

from support.simulated_figures import AGAIN, HEAD, PROCEDURES, TABLE, figures

from keisoku.subjects.device.table import PROCEDURES as KNOWN


def test_no_simulated_figure_differs_from_the_committed_table() -> None:
    kept, now = TABLE.read_text(encoding="utf-8").splitlines(), figures().splitlines()
    changed = [line for line in unified_diff(kept, now, lineterm="", n=0) if not line.startswith(("@@", "---", "+++"))]
    assert not changed, (
        f"{len(changed)} lines differ (kept: -, now: +). If each of them is meant, write the table again with\n"
        f"  {AGAIN}\n" + "\n".join(changed[:200])
    )


def test_every_procedure_that_a_simulated_device_can_do_is_in_the_table() -> None:
    listed = {name for _, procedures in PROCEDURES for name in procedures}
    assert listed == set(KNOWN) - {"forward_pressure", "calibrate", "cost"}
    lines = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()]
    assert tuple(lines[0]) == HEAD and {len(line) for line in lines} == {len(HEAD)}
    assert len({line[0] for line in lines[1:]} - {""}) == 20
    measured = {line[1] for line in lines[1:] if line[5]}
    assert measured == listed | {"calibrate", "system limit"}
