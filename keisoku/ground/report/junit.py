"""Checks as JUnit XML, which every CI system reads. The schema is that of the Jenkins plug-in (testmoapp/junitxml)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

from keisoku.ground.report.check import Check

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold (2.2), such as those of a title that came from a file."""


def junit(name: str, checks: Sequence[Check], sentences: Sequence[str], about: Mapping[str, str] | None = None) -> str:
    """One suite for each group of checks; `sentences` say in words what was found, `about` is that of the plan."""
    root = ElementTree.Element("testsuites", {"name": _plain(name), **_counts(checks)})
    for group in dict.fromkeys(check.group for check in checks):
        own = [check for check in checks if check.group == group]
        suite = ElementTree.SubElement(root, "testsuite", {"name": _plain(group), **_counts(own)})
        if about:
            properties = ElementTree.SubElement(suite, "properties")
            for key, value in about.items():
                ElementTree.SubElement(properties, "property", name=_plain(key), value=_plain(value))
        for check in own:
            case = ElementTree.SubElement(
                suite, "testcase", classname=_plain(f"{name}.{group}"), name=_plain(check.name), time="0"
            )
            if check.outcome == "failed":
                failure = ElementTree.SubElement(case, "failure", message=_plain(check.text), type="failure")
                failure.text = _plain(check.text)
            elif check.outcome == "skipped":
                ElementTree.SubElement(case, "skipped", message=_plain(check.text))
            else:
                ElementTree.SubElement(case, "system-out").text = _plain(check.text)
        ElementTree.SubElement(suite, "system-out").text = _plain("\n".join(sentences))
    ElementTree.indent(root, " ")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _counts(checks: Sequence[Check]) -> dict[str, str]:
    counted = {"failures": "failed", "skipped": "skipped"}
    found = {name: str(sum(check.outcome == outcome for check in checks)) for name, outcome in counted.items()}
    return {"tests": str(len(checks)), **found, "errors": "0", "time": "0"}


def _plain(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)
