"""A command that needs certificates says in one sentence which are missing or cannot be used, before it connects."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.dask_cluster import certificates

from keisoku.errors import PlanError
from keisoku.running.campaign.security import security

dask = pytest.importorskip("dask.config", reason="the extra 'cluster' is not installed")
ADDRESS = "tls://192.0.2.1:8786"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"ca-file": None}, "needs distributed.comm.tls.ca-file in Dask's configuration"),
        ({"client.cert": None}, "needs distributed.comm.tls.client.cert in Dask's configuration"),
        ({"client.key": "nowhere.key"}, "nowhere.key, which is .*client.key .* cannot be read"),
        ({"client.key": "another/host.key"}, "cannot be used .*key values mismatch"),
        ({"ca-file": "another/host.key"}, "cannot be used"),
    ],
)
def test_certificates_that_cannot_be_used_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, str | None], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    own, _ = certificates(Path("own")), certificates(Path("another"))
    files = {"ca-file": "own/ca.pem", "client.cert": "own/host.pem", "client.key": "own/host.key"}
    assert set(files.values()) == set(own.values())
    with dask.set({f"distributed.comm.tls.{name}": file for name, file in files.items()}):
        assert security(ADDRESS).get_connection_args("client")["ssl_context"]
        with dask.set({f"distributed.comm.tls.{name}": file for name, file in changed.items()}):
            assert security("tcp://192.0.2.1:8786")
            with pytest.raises(PlanError, match=said) as refused:
                security(ADDRESS)
    assert "PRIVATE" not in str(refused.value)
