"""The catalogue against the code: every text has a translation with the same places, and none is left over."""

from __future__ import annotations

import ast
import pickle
import re
import unicodedata
from functools import cache
from pathlib import Path
from string import Formatter

import pytest
from jinja2 import nodes
from support.synthetic_runs import host_run, page_of

import keisoku
from keisoku.faces.cli.folding import wide_lines
from keisoku.faces.service.web.form import texts as form_texts
from keisoku.ground.report import digits
from keisoku.ground.report.answer import deviating
from keisoku.ground.report.template import environment
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import (
    ENGLISH,
    LANGUAGES,
    catalogue,
    first_lower,
    join_texts,
    language,
    phrase,
    plural,
    recorded,
    speaking,
    translated,
)

ROOT = Path(keisoku.__file__).parent
OTHERS = [name for name in LANGUAGES if name != ENGLISH]


MAKERS = ("phrase", "plural")


@cache
def texts() -> dict[str, str]:
    """Every text that is made with `phrase` or `plural`, in code and templates, and those of forms; and where it is."""
    found = dict.fromkeys(form_texts(), "a form")
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS:
                for text in node.args:
                    if isinstance(text, ast.Constant) and isinstance(text.value, str):
                        found[text.value] = str(path)
                    else:  # only where a template's own literal is handed on
                        assert path.name == "template.py", f"{path}, line {node.lineno}: give phrase a literal"
    for path in ROOT.rglob("*.html"):
        for call in environment().parse(path.read_text("utf-8")).find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name in MAKERS:
                for literal in call.args:
                    assert isinstance(literal, nodes.Const), path
                    found[literal.value] = str(path)
    return found


def places(text: str) -> list[tuple[str | None, str | None]]:
    """Names and formats of the places for values."""
    return sorted({(name, form) for _, name, form, _ in Formatter().parse(text) if name is not None})


@pytest.mark.parametrize("name", OTHERS)
def test_every_text_of_the_code_is_translated_and_no_other(name: str) -> None:
    found, translations = texts(), catalogue(name)
    assert len(found) > 600
    assert {text: where for text, where in found.items() if text not in translations} == {}
    assert [text for text in translations if text not in found] == []


@pytest.mark.parametrize("name", OTHERS)
def test_a_translation_has_the_places_and_the_markup_of_its_text(name: str) -> None:
    for text, translation in catalogue(name).items():
        assert places(text) == places(translation), text
        assert re.findall(r"</?\w+>|&\w+;", text) == re.findall(r"</?\w+>|&\w+;", translation), text


BANNED = {
    "較正": "校正",
    "提供": "送信、印加負荷",
    "時刻印": "タイムスタンプ",
    "百分位": "パーセンタイル",
    "が以内": "99.9 % 値",
    "以上 *まで": "少なくとも…まで",
    "満たさない": "不合格",
    "未決|決められない": "判定不能",
    "装置": "機器",
    "機械|計算機|(?<!仮想)(?<!Linux )マシン": "ホスト",
    "時計": "クロック",
    "実験室": "ラボ",
    "利用者": "ユーザー",
    "テスター": "測定器",
    "ルーター|ハイパーバイザー|ドライバー|サーバー": "ルータ、ハイパーバイザ、ドライバ、サーバ",
    "インターフェイス|インタフェース": "インターフェース",
    "待ち行列": "キュー",
    "走査": "掃引",
    "廃棄": "破棄",
    "事象": "イベント",
    "発表": "公表",
    "網": "ネットワーク",
    "カーネルの部分": "カーネル機能",
    r"\bbytes?\b": "バイト",
    r"[ぁ-んァ-ヶ一-龥][,;.](?!\S)": "、 or 。",
    r"[ぁ-んァ-ヶ一-龥] ?\((?!下限)|：|〜| [、。]": "（ and ）, a colon of ASCII, ～, no space before 、",
}
"""Japanese that is wrong or a second word for a thing, and what is said for it (JIS Z 8103 for metrology)."""


def test_japanese_has_one_right_word_for_each_thing() -> None:
    texts = {*catalogue("ja").values(), *(path.read_text("utf-8") for path in (ROOT.parent / "docs/ja").glob("*.md"))}
    prose = [re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)|\{[^{}]*\}", "x", text, flags=re.DOTALL) for text in texts]
    assert [(word, right, text) for text in prose for word, right in BANNED.items() if re.search(word, text)] == []


def test_a_text_is_english_until_it_is_shown() -> None:
    said = phrase("at least {figure}", figure=phrase("{count} rows", count=3))
    assert said == "at least 3 rows" and language() == ENGLISH and translated(said) == "at least 3 rows"
    with speaking("ja"):
        assert said == "at least 3 rows"
        assert translated(said) == "少なくとも 3 行"
        assert translated(join_texts("; ", [said, "eth1"])) == "少なくとも 3 行; eth1"
        assert translated("at least 3 rows") == "at least 3 rows"  # nobody says that it is not the name of a device
        assert translated(recorded("virtual time, exact")) == "仮想時間（正確）"
        assert translated(recorded("{what a user wrote}")) == "{what a user wrote}"
    assert translated(said) == "at least 3 rows"


def test_one_of_a_thing_is_not_named_in_the_plural() -> None:
    """'1 pairs', '1 trials failed', 'RFC 2544 §26.2: 1 repetitions instead of at least 20'."""
    said = [plural("{count} pair", "{count} pairs", count=count) for count in (0, 1, 2, "1", "1,000")]
    assert said == ["0 pairs", "1 pair", "2 pairs", "1 pair", "1,000 pairs"]
    with speaking("ja"):
        assert [translated(one) for one in said] == ["0 組", "1 組", "2 組", "1 組", "1,000 組"]
        assert translated(recorded("RFC 2544 §26.2: 1 repetition instead of at least 20")).startswith("RFC 2544")
        assert translated(recorded("the transmit queue of eth1 was full: it refused 1 frame")).startswith("eth1")
    assert deviating([Result(measurement="loss", rows=[], deviations=["one"])]) == "1 deviation from the standards"


def test_a_text_without_a_translation_stays_english() -> None:
    with speaking("ja"):
        assert translated(join_texts(" ", [phrase("measured"), "on a device"])) == "測定値 on a device"
        unknown = "{count} " + "zebras"
        assert translated(phrase(unknown, count=2)) == "2 zebras"


def test_results_keep_how_their_texts_are_made_and_are_english_in_files() -> None:
    row = Row(figures={}, remark=phrase("limited by the tester"))
    result = Result(measurement="throughput", rows=[row], remarks=[phrase("no loss")]).model_copy()
    again = Result.model_validate_json(result.model_dump_json())
    assert again == result and again.remarks == ["no loss"]
    with speaking("ja"):
        assert translated(result.rows[0].remark) == "測定器が限界"
        assert translated(pickle.loads(pickle.dumps(result)).remarks[0]) == "損失なし"


def test_texts_of_a_results_file_are_translated_too() -> None:
    """A report of a stored calibration had the one English line in a Japanese table."""
    result = Result(measurement="latency", rows=[Row(figures={}, remark="limited by the tester")])
    with speaking("ja"):
        assert translated(Result.model_validate_json(result.model_dump_json()).rows[0].remark) == "測定器が限界"


def test_a_figure_keeps_its_digits_and_its_unit() -> None:
    bound = Quantity(value=570_512.0, unit="frames/s", bound="at least")
    with speaking("ja"):
        assert translated(digits.text(bound)) == "少なくとも 570.5 kframes/s"
    assert digits.text(bound) == "at least 570.5 kframes/s"


def test_the_page_of_a_device_is_japanese_and_its_english_one_is_the_same_before_and_after() -> None:
    before = page_of([host_run()])
    with speaking("ja"):
        page = page_of([host_run()])
    assert page_of([host_run()]) == before
    assert '<html lang="en">' in before and '<html lang="ja">' in page
    for text in ("フレームサイズ", "スループット", "平均遅延", "確かさ", "印加負荷", "不確かさ", "測定報告書"):
        assert text in page, text
    for text in ("Frame size", "Median latency", "Confidence", "measurement report", "Without JavaScript", "Offered"):
        assert text not in page, text
    # What the page's style and script go by is no word of a language.
    assert re.findall(r'class="badge ([\w-]+)"', page) == re.findall(r'class="badge ([\w-]+)"', before)
    assert re.findall(r' id="([^"]+)"', page) == re.findall(r' id="([^"]+)"', before)


def test_lines_of_japanese_end_anywhere_but_before_punctuation() -> None:
    said = "測定器を校正していません。直線の定数には測定器自身の遅延が含まれ、不確かさは不明です（RFC 2544 §26.2）。"
    for width in range(20, 60):
        lines = wide_lines(said, width, "  ")
        wide = [sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in line) for line in lines]
        # Punctuation hangs over the end where its line is full.
        assert max(wide) <= width + 4
        assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", said)
        assert not any(line.strip()[0] in "、。）" for line in lines)
    assert wide_lines("  · 校正", 20, "    ") == ["  · 校正"]


SHOWN = (
    *(f"subjects/{room}" for room in ("clock", "path", "stream", "line", "system")),
    *(f"subjects/device/{room}" for room in ("analysis", "calibration", "method", "report")),
    *("running", *(f"ground/{room}" for room in ("run", "report", "host/checkup", "statistics"))),
)
"""Folders whose texts readers of a page or a terminal see."""
NOT_SHOWN = {
    "running/measurement/setting_order.py": "headings of the help of commands; the forms have their own",
    "running/measurement/typed_setting.py": "the help of an option",
    "subjects/clock/reference/kinds.py": "forms of an option, in its refusal",
    "subjects/clock/reference/ntp.py": "a refusal of the far end, in an error",
    "subjects/clock/reference/ptp/port.py": "a refusal of the far end, in an error",
    "subjects/clock/reference/ptp/reference.py": "an error",
    "subjects/clock/reference/ptp/target.py": "forms of an option, in its refusal",
    "subjects/clock/stability/averaging.py": "errors",
    "subjects/clock/stability/settings.py": "errors",
    "subjects/path/one_packet/probing/sockets.py": "an error",
    "subjects/path/stamp/sender.py": "errors",
    "ground/run/settings.py": "errors of settings",
    "subjects/device/report/hdr_log.py": "a form for programs",
    "ground/report/junit.py": "a form for programs",
    "ground/report/openmetrics.py": "a form for programs",
    "ground/report/check.py": "a form for programs",
    "ground/report/svg.py": "SVG",
    "ground/report/svg_points.py": "SVG",
    "subjects/stream/capacity/near.py": "errors",
    "subjects/stream/flow/report.py": "an error",
    "subjects/stream/transaction/near.py": "errors",
    "subjects/stream/session.py": "the name of a command, in an error",
    "subjects/stream/outage/session.py": "the name of a command, in an error",
    "subjects/stream/outage/target.py": "forms of an argument, in its refusal",
    "subjects/system/load/apache_bench.py": "what ab prints",
    "subjects/system/load/oha.py": "what oha prints",
    "subjects/system/load/remote_client.py": "a script for a shell",
    "subjects/system/load/ssh_hosts.py": "a script for a shell",
    "subjects/system/load/watched_script.py": "a script for a shell",
    "subjects/system/load/wrk.py": "a script in Lua",
    "subjects/system/load/settings.py": "the help of an option",
    "subjects/system/network/network_system.py": "names of ports",
    "subjects/system/network/remote_system.py": "a script for a shell",
}
"""Modules there with other texts, which are English in every language, and what these are."""
SENTENCE = re.compile(r"[A-Za-z]{3,}[,:;]? [a-z]{2,}[,:;]? [a-z]{2,}")
KEYS = {"reference went back", "not a function of the queue"}
"""Words that modules hand to each other."""
FOR_ERRORS = ("problem", "remedy", "kept", "problems")
"""Variables that hold parts of an error."""
NAMES, ARGUMENTS = ("UNITS", "_UNITS"), ("help", "summary", "units", "columns")
"""Variables and arguments that hold names of figures or help."""


def without_phrase(tree: ast.AST) -> list[str]:
    """Texts of three words and more that no `phrase` makes: not docstrings, help, errors or what is compared."""
    above = {below: node for node in ast.walk(tree) for below in ast.iter_child_nodes(node)}

    def excused(node: ast.AST) -> bool:
        while node in above:
            node = above[node]
            name = getattr(node, "func", None)
            called = getattr(name, "id", getattr(name, "attr", ""))
            if isinstance(node, ast.Raise | ast.Assert | ast.Compare | ast.Expr) or called in MAKERS:
                return True
            if called.endswith("Error") or (isinstance(node, ast.keyword) and node.arg in ARGUMENTS):
                return True
            if isinstance(node, ast.Assign) and any(
                isinstance(name, ast.Name) and name.id in (*FOR_ERRORS, *NAMES)
                for target in node.targets
                for name in ast.walk(target)
            ):
                return True
        return False

    found = []
    for node in ast.walk(tree):
        text = ""
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value if not isinstance(above.get(node), ast.JoinedStr) else ""
        if SENTENCE.search(text) and not text.startswith("\b") and not excused(node):
            found.append(text)
    return found


def test_no_text_for_a_reader_is_outside_of_the_catalogue() -> None:
    """A key that is a text of the catalogue at the same time, such as a verdict, is translated where it is shown."""
    known = KEYS | set(catalogue("ja"))
    found = {
        f"{path.relative_to(ROOT)}: {text}"
        for folder in SHOWN
        for path in (ROOT / folder).rglob("*.py")
        if str(path.relative_to(ROOT)) not in NOT_SHOWN
        for text in without_phrase(ast.parse(path.read_text("utf-8")))
        if text not in known
    }
    assert found == set()


def test_a_recorded_text_is_recognised_with_its_values() -> None:
    with speaking("ja"):
        said = "the kernel changed its clock source (tsc to hpet): figures before and after belong to different clocks"
        assert translated(recorded(said)).startswith("カーネルがクロックソースを変えました（tsc to hpet）")
        nested = (
            "sim:x: not measured as far as the host: the router 192.0.2.1 says that a filter forbids it (ICMP 3/13)"
        )
        assert "フィルタが禁止している" in translated(recorded(nested)) and "192.0.2.1" in translated(recorded(nested))
        assert (
            translated(recorded("a sentence that nobody has made so far")) == "a sentence that nobody has made so far"
        )


def test_what_is_put_together_stays_translatable() -> None:
    with speaking("ja"):
        assert translated(phrase("measured") + "; " + phrase("no loss")) == "測定値; 損失なし"
        assert translated("eth1: " + phrase("measured")) == "eth1: 測定値"


def test_an_abbreviation_stays_at_the_beginning_of_what_continues_a_sentence() -> None:
    """It said 'made cPU time a frame 63 % higher'."""
    assert first_lower("CPU time a frame") == "CPU time a frame" and first_lower("Throughput") == "throughput"
