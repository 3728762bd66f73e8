"""Names of containers and pods; real ones are in tests/lab/test_container_namespace.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from keisoku.errors import PlanError
from keisoku.ground.host.container import namespace_of


@pytest.mark.parametrize("text", ["", "blue", "/proc/1/ns/net", "pods", "containers:web"])
def test_other_names_stay_as_they_are(text: str) -> None:
    assert namespace_of(text) == text


@pytest.mark.parametrize(
    "text", ["container:", "container:--help", "container:a b", "pod:web", "pod:a/b/c", "pod:/web"]
)
def test_what_names_no_container_is_refused_before_any_runtime_is_asked(text: str) -> None:
    with pytest.raises(PlanError, match=r"names no (container|pod)"):
        namespace_of(text)


@pytest.mark.parametrize("text", ["container:web", "pod:shop/web"])
def test_without_a_runtime_one_sentence_says_what_to_install(
    text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PlanError, match=r"no runtime on this host knows .* install one of .*crictl"):
        namespace_of(text)
