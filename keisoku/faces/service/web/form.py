"""The form of an entry of the table of measurements: a field for each of its settings, those that people use first at
the top, and what was typed as a plan. A mistake is said beside its field, in the words of the form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from keisoku.errors import Occupied, PlanError
from keisoku.faces.service.runs import asked_from_afar
from keisoku.faces.service.web.labels import LABELS, TITLES
from keisoku.ground.entry import Measurement
from keisoku.ground.run.settings import ABOUT
from keisoku.language import LANGUAGES, Phrase, join_texts, language, phrase, recorded, sentence_case, translated
from keisoku.running.measurement import setting_order
from keisoku.running.measurement.plan_values import DEVICE
from keisoku.running.measurement.table import MODULES, find
from keisoku.running.measurement.typed_setting import LENGTH_OF_TRIALS, TypedSetting, known_as, settings_of
from keisoku.subjects.device.procedure.rfc9693.connection_trial import FLUSHED
from keisoku.subjects.device.record.event import EVENTS
from keisoku.subjects.device.table import GROUPS, PROCEDURES, suites
from keisoku.subjects.system.simulated.file import builtin

Typed = Mapping[str, Sequence[str]]
"""What was sent of a form, by the names of its fields."""
_NOT_FROM_AFAR = ("capture", "snap_bytes", "force", "key_file", "key_id", "undo", "receiver")
"""Settings that name files or commands of the server, override its guards, or name a host whose ports are unknown."""
_FIRST = (
    *("host", "port", "system", "methods", "event", "direction", "size_bytes", "streams", "connections", "packets"),
    *("pairs", "rounds", "repetitions", "rate_bps", "rate_rps", "objective", "reference", "duration_s", "budget_s"),
    *("reads", "every_s", "rate_fps", "trial_s", "within_s"),
)
"""Of what is no device, those that people need first."""
_OPTION = re.compile(r"--([a-z][a-z0-9-]*)")
_PORTS, _PARAMETERS, _ENGINE = "host_ports", "dut_parameters", "port_engine"
"""Fields beside those of settings: ports of this host that take part, parameters of a lab's device, and the engine of
either."""
_LISTED = ("dut", "tx", "rx", "about")
"""Settings that are lists, and fields of their own."""
_LENGTH_OF_EACH = phrase("Length of each trial (default: that of the profile)")


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    value: str
    text: str


@dataclass(frozen=True)
class Field:
    """One field, as it is shown."""

    name: str
    label: str
    help: str = ""
    kind: Literal["text", "lines", "check", "choice", "several", "device", "ports"] = "text"
    choices: Sequence[Choice] = ()
    placeholder: str = ""
    required: bool = False
    typed: Sequence[str] = ()
    """What stands in it now."""
    usual: str = ""
    """What stands in it in a new form."""
    error: str = ""

    @property
    def value(self) -> str:
        """The only one."""
        return next(iter(self.typed), "")


@dataclass(frozen=True)
class Group:
    """Fields under one heading."""

    title: str
    fields: Sequence[Field]
    folded: bool = True

    @property
    def wrong(self) -> bool:
        """Whether there is a mistake in it, so that it is not folded."""
        return any(each.error for each in self.fields)

    @property
    def used(self) -> bool:
        """Whether something else stands in it than in a new form."""
        return any(each.value != each.usual for each in self.fields)


class Mistakes(PlanError):
    """What cannot be measured as it was typed: sentences by the name of the field; those of no field by ''."""

    def __init__(self, sentences: Mapping[str, str]) -> None:
        self.sentences = dict(sentences)
        super().__init__("form", " ".join(self.sentences.values()), "correct it")


@dataclass(frozen=True)
class Entry:
    """An entry that the server carries out, as a person chooses it."""

    name: str
    title: str
    summary: str

    @property
    def address(self) -> str:
        """As it stands in the address of its form."""
        return self.name.replace(" ", "-").replace("_", "-")


@cache
def entries() -> Mapping[str, Sequence[Entry]]:
    """All of them, by the title of their group."""
    found: dict[str, list[Entry]] = {}
    for title, names in GROUPS.items():
        found[TITLES[title]] = [
            Entry(name, PROCEDURES[name].title, recorded(PROCEDURES[name].summary)) for name in names
        ]
    documents = [Entry(name, _of_document(name), recorded(find(name).summary)) for name in suites()]
    several = Entry(DEVICE, phrase("Several procedures"), phrase("Procedures of your choice, one after the other."))
    found[phrase("Whole documents, and several procedures")] = [*documents, several]
    for name in MODULES:
        entry, kind = find(name), name.partition(" ")[0]
        if name != DEVICE and entry.from_afar is not None:
            found.setdefault(TITLES[kind], []).append(Entry(name, entry.title, recorded(entry.summary)))
    return found


def every_entry() -> Iterator[Entry]:
    """The same, without groups."""
    return (each for group in entries().values() for each in group)


def texts() -> set[str]:
    """What forms say that stands in summaries and docstrings of settings, as a catalogue has it."""
    found = {each.summary for each in every_entry()}
    for entry in every_entry():
        found |= {_told(setting) for setting in Form(entry.name).settings if setting.name not in _LISTED}
    return {text.template if isinstance(text, Phrase) else text for text in found if text}


class Form:
    """That of one entry."""

    def __init__(self, name: str) -> None:
        """Raises PlanError if there is no such entry, or the server does not carry it out."""
        self.measurement: Measurement[Any] = find(name)
        known = next((each for each in every_entry() if each.address == name.replace("_", "-").replace(" ", "-")), None)
        if known is None:
            raise PlanError("measurement", f"the server does not carry out {name}", "measure on its command line")
        self.entry = known
        kinds = self.measurement.offers or (self.measurement.settings,)
        self.settings = [each for each in settings_of(*kinds) if each.name not in _NOT_FROM_AFAR]
        self.is_device = any(each.name == "dut" for each in self.settings)
        absent = {*self.measurement.refuses, *(("clock",) if self.is_device else ())}  # which relates two hosts
        self.settings = [each for each in self.settings if each.name not in absent]
        self._labels = {each.name: label(each.name) for each in self.settings}
        self._names = self._known_names()

    @property
    def least_ports(self) -> int:
        """Of the device, where there is one."""
        names = suites().get(self.entry.name, (self.entry.name,))
        return max((PROCEDURES[name].least_ports for name in names if name in PROCEDURES), default=2)

    def groups(self, typed: Typed | None = None, mistakes: Mapping[str, str] | None = None) -> list[Group]:
        """All fields with what was typed (None: a new form), and what is wrong with it."""
        wrong = mistakes or {}
        fields = {each.name: self._field(each, typed, wrong.get(each.name, "")) for each in self.settings}
        common = [
            name
            for name in ((*setting_order.FIRST[:-1],) if self.is_device else _FIRST)
            if name in fields and name not in ("tx", "rx")
        ]
        common = [*(each.name for each in self.settings if each.field.is_required()), *common]
        first = [fields.pop(name) for name in dict.fromkeys(common)]
        if self.is_device:
            first = self._of_device(first, fields, typed, wrong)
        found = [Group("", first, folded=False)]
        place = {name: title for title, names in setting_order.SECTIONS.items() for name in names}
        if not self.is_device:
            place = dict.fromkeys(("repeat", "require", "about"), "Trials and figures")
        titles = [setting_order.OWN, *setting_order.SECTIONS]
        for title in titles:
            own = [each for name, each in fields.items() if place.get(name, setting_order.OWN) == title]
            if own and name_of_group(title):
                found.append(Group(name_of_group(title), [each for each in own if each.name != "about"]))
        about = [
            Field(f"about.{name}", label(f"about.{name}"), typed=(typed or {}).get(f"about.{name}", ()))
            for name in ABOUT
        ]
        found.append(Group(phrase("Names and notes"), about))
        return [group for group in found if group.fields]

    def document(self, typed: Typed) -> dict[str, Any]:
        """The plan that was typed, as a client sends it. Raises Mistakes."""
        values: dict[str, Any] = {}
        wrong: dict[str, str] = {}
        given = {**typed, **self._ports(typed)}
        for setting in self.settings:
            try:
                if (value := _value(setting, given)) is not None:
                    values[setting.name] = value
            except PlanError as error:
                wrong |= self.sentences(error)
        if wrong:
            raise Mistakes(wrong)
        about = {name: said for name in ABOUT if (said := _one(typed, f"about.{name}"))}
        values |= {"about": about} if about else {}
        if self.entry.name == DEVICE:
            values["methods"] = list(typed.get("methods", ()))
        return {"measurement": self.entry.name, **self.measurement.waited_for(values), **values}

    def typed(self, plan: Mapping[str, Any]) -> dict[str, list[str]]:
        """What has to be typed for this plan of a run, as far as fields have it."""
        own = plan.get(self.entry.name)
        values = {**plan, **(own if isinstance(own, Mapping) else {})}
        found: dict[str, list[str]] = {}
        for setting in self.settings:
            value = values.get(setting.name)
            usual = _plain(setting.field.get_default(call_default_factory=True))
            # What is not typed of a box that is usually ticked unticks it.
            if value is not None and (setting.kind is bool or value != usual):
                found[setting.name] = _typed(setting, value)
        found |= {f"about.{name}": [said] for name, said in plan.get("about", {}).items()}
        if self._of_several:
            found["methods"] = list(plan["methods"])
        if "dut" in found:
            device, _, parameters = found["dut"][0].partition("?")
            return found | {"dut": [device], _PARAMETERS: [parameters], _ENGINE: found.pop("engine", [""])}
        sides = {name: found[name][0] for name in ("tx", "rx") if name in found}
        engine = next((text.partition(":")[0] for text in sides.values() if ":" in text), "")
        named = {name: [text.removeprefix(f"{engine}:")] for name, text in sides.items()}
        return found | named | ({_ENGINE: [engine]} if engine else {})

    def sentences(self, error: PlanError) -> dict[str, str]:
        """The error as a sentence in the words of the form, by the name of its field."""
        if isinstance(error, Mistakes):
            return error.sentences
        place = error.field.removeprefix(f"{self.entry.name}.")
        name = self._names.get(place) or self._names.get(place.partition(".")[0], "")
        if not name or isinstance(error, Occupied):
            return {"": self.in_words(f"{error.field}: {error.problem}", error.remedy)}
        return {name: self.in_words(error.problem, error.remedy)}

    def in_words(self, *clauses: str) -> str:
        """Clauses of an error as sentences; what is an option of a command is the field of that name here."""
        return in_words([recorded(clause) for clause in clauses], self._labels_of_options)

    def _known_names(self) -> dict[str, str]:
        """The names of fields by those that errors give them."""
        found = {"device": "dut", "frame size": "frame_bytes", "methods": "methods" if self._of_several else ""}
        for each in self.settings:
            for name in (*known_as([each]), each.known_as, each.option[2:], each.option[2:].replace("-", "_")):
                found[name] = each.name
        # Ports are chosen in one list, and a lab's device beside its parameters.
        return found | {name: "tx" for name in ("tx", "rx") if self.is_device}

    @property
    def _of_several(self) -> bool:
        return self.entry.name == DEVICE

    def _field(self, setting: TypedSetting, typed: Typed | None, error: str) -> Field:
        name, default = setting.name, setting.field.default
        stands = list((typed or {}).get(name, ()))
        common: dict[str, Any] = {
            "help": self._explained(setting),
            "error": error,
            "required": setting.field.is_required(),
        }
        if setting.kind is bool:
            usual = "yes" if default else ""
            stands = stands if typed is not None else [usual]
            return Field(name, self._labels[name], kind="check", typed=stands, usual=usual, **common)
        if choices := _choices(setting):
            return Field(name, self._labels[name], kind="choice", choices=choices, typed=stands, **common)
        if _is_of_lines(setting):
            return Field(name, self._labels[name], kind="lines", typed=stands, **common)
        return Field(name, self._labels[name], typed=stands, placeholder=_example(setting), **common)

    def _explained(self, setting: TypedSetting) -> str:
        told = recorded(_told(setting))
        if usual := setting.usual():
            told = phrase("{told} (usual: {usual})", told=told, usual=usual)
        return in_words([told], self._labels_of_options)

    @cached_property
    def _labels_of_options(self) -> dict[str, str]:
        return {each.option[2:]: self._labels[each.name] for each in self.settings}

    def _of_device(
        self, first: list[Field], rest: dict[str, Field], typed: Typed | None, wrong: Mapping[str, str]
    ) -> list[Field]:
        """The device and the ports in place of the settings that name them."""
        given = typed or {}
        for name in ("tx", "rx", "engine"):
            rest.pop(name)
        device = Field(
            "dut",
            self._labels["dut"],
            kind="device",
            typed=[_one(given, "dut"), _one(given, _PARAMETERS), _one(given, _ENGINE)],
            error=wrong.get("dut", "") or wrong.get("engine", ""),
        )
        many = self.least_ports > 2
        ports = Field(
            _PORTS if many else "tx",
            phrase("Ports of this host"),
            kind="ports",
            typed=given.get(_PORTS, ()) if many else [_one(given, "tx"), _one(given, "rx")],
            error="" if device.value else wrong.get("ports" if many else "tx", ""),
        )
        found = [device, ports, *(each for each in first if each.name != "dut")]
        if many:
            numbers = ",".join(str(number + 1) for number in range(self.least_ports))
            known = rest.pop("ports")
            stands = known.typed if typed is not None else [numbers]
            told = phrase("Ports of a simulated or lab device that take part, such as {numbers}.", numbers=numbers)
            found.insert(2, Field("ports", self._labels["ports"], help=told, typed=stands, error=known.error))
        if self._of_several:
            choices = [Choice(name, PROCEDURES[name].title) for name in PROCEDURES]
            methods = Field(
                "methods",
                phrase("Procedures"),
                kind="several",
                choices=choices,
                typed=given.get("methods", ()),
                error=wrong.get("methods", ""),
            )
            found.insert(2, methods)
        return found

    def _ports(self, typed: Typed) -> dict[str, Sequence[str]]:
        """The settings that the chosen device and ports are."""
        if not self.is_device:
            return {}
        engine, device = _one(typed, _ENGINE), _one(typed, "dut")
        if device:
            parameters = _one(typed, _PARAMETERS)
            joined = f"{device}?{parameters}" if parameters else device
            return {"dut": [joined], "engine": [engine] if engine else []}
        named = [f"{engine}:{name}" if engine else name for name in typed.get(_PORTS, ())]
        if named:
            return {"dut": [], "engine": [], "ports": [",".join(named)]}
        both = {name: port for name in ("tx", "rx") if (port := _one(typed, name))}
        return {
            "dut": [],
            "engine": [],
            **{name: [f"{engine}:{port}" if engine else port] for name, port in both.items()},
        }


def again(measurement: str, plan: Mapping[str, Any]) -> tuple[Form, dict[str, list[str]]] | None:
    """The form that makes this very plan, and what stands in it; None if no form does."""
    methods = plan.get("methods", ())
    name = plan.get("document") or (methods[0] if len(methods) == 1 else measurement)
    try:
        form = Form(name)
        typed = form.typed(plan)
        _, settings = asked_from_afar(form.document(typed))
    except PlanError:
        return None
    return (form, typed) if settings.plain() == plan else None


def label(name: str) -> str:
    """What a field is called."""
    known = LABELS.get(name)
    return known if known is not None else sentence_case(recorded(name.rstrip("_").replace("_", " ")))


def name_of_group(title: str) -> str:
    """The heading of a group of settings."""
    return TITLES.get(title, "")


def in_words(clauses: Iterable[str], labels: Mapping[str, str]) -> str:
    """Clauses as sentences of the page in its language; what is an option of a command is a field there."""

    def named(found: re.Match[str]) -> str:
        return f"“{translated(labels[found[1]])}”" if found[1] in labels else found[1].replace("-", " ")

    said = []
    for clause in clauses:
        text = translated(sentence_case(clause)).strip()
        stop = "." if text.isascii() or language() == LANGUAGES[0] else "。"
        end = "" if not text or text.endswith((".", "?", "!", "。")) else stop
        said.append(_OPTION.sub(named, text) + end)
    return " ".join(said)


def for_the_page(error: str) -> str:
    """A failure of a run without what only a command line could do about it."""
    kept = [clause for clause in error.split("; ") if "'keisoku " not in clause and "--" not in clause]
    return "; ".join(kept or [error.partition("; ")[0]])


def _told(setting: TypedSetting) -> str:
    told = " ".join(setting.description().split())
    return told or (_LENGTH_OF_EACH if setting.name == LENGTH_OF_TRIALS else "")


def _of_document(name: str) -> str:
    return phrase("All of {document}", document=f"{name[:3].upper()} {name[3:]}")


def _value(setting: TypedSetting, typed: Typed) -> Any:
    """What was typed as a value of the plan; None if nothing was, or what is so anyway."""
    name = setting.name
    if setting.kind is bool:
        chosen = bool(typed.get(name))
        return chosen if chosen != bool(setting.field.default) else None
    lines = [line.strip() for text in typed.get(name, ()) for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    if _is_of_lines(setting):
        return setting.value(tuple(lines)) if get_origin(setting.kind) is dict else lines
    return setting.value(lines[0])


def _typed(setting: TypedSetting, value: Any) -> list[str]:
    """The inverse of `_value`."""
    if isinstance(value, bool):
        return ["yes"] if value else []
    if isinstance(value, Mapping):
        pairs = ((name, ",".join(map(str, each)) if isinstance(each, list) else each) for name, each in value.items())
        return ["\n".join(f"{name}={each}" for name, each in pairs)]
    if isinstance(value, list | tuple):
        return [("\n" if _is_of_lines(setting) else ",").join(str(each) for each in value)]
    return [setting.text_of(value)]


def _plain(default: Any) -> Any:
    """As a plan of TOML has it."""
    if isinstance(default, BaseModel):
        return default.model_dump(mode="json", exclude_none=True)
    return list(default) if isinstance(default, tuple) else default


def _is_of_lines(setting: TypedSetting) -> bool:
    return get_origin(setting.kind) is dict or setting.shown.several or setting.name == "require"


def _choices(setting: TypedSetting) -> list[Choice]:
    """The values of a setting that has few, with nothing first where there is a default."""
    kind = setting.kind
    known = _KNOWN.get(setting.name, {})
    if get_origin(kind) is Literal:
        known = {str(each): "" for each in get_args(kind)}
    elif isinstance(kind, type) and issubclass(kind, Enum):
        known = {str(each.value): "" for each in kind}
    if not known:
        return []
    default = setting.field.default
    usual = phrase("usual: {default}", default=str(default)) if str(default) in known else phrase("not chosen")
    empty = [] if setting.field.is_required() else [Choice("", usual)]
    return [*empty, *(Choice(each, join_texts(": ", [each, text]) if text else each) for each, text in known.items())]


_KNOWN: Mapping[str, Mapping[str, str]] = {
    "system": dict.fromkeys((f"sim:{name}" for name in builtin()), ""),
    "event": EVENTS,
    "forget": {FLUSHED: EVENTS[FLUSHED]},
    "calibration": dict.fromkeys(("auto", "none"), ""),
    "ceiling": dict.fromkeys(("measured", "none"), ""),
}
"""Values that the server takes, of settings that are a text, and what they mean."""


def _example(setting: TypedSetting) -> str:
    """What stands in an empty field: how a value is written, with its unit."""
    default = setting.field.default
    if isinstance(default, int | float) and not isinstance(default, bool):
        return setting.text_of(default)
    return _EXAMPLES.get(setting.name) or _EXAMPLES.get(f"_{setting.name.rpartition('_')[2]}", "")


_EXAMPLES = {
    "host": "192.0.2.7",
    "frame_bytes": "64, 512, 1518",
    "rate_fps": "50%, 100kpps, 500Mbps",
    "_s": "10s, 5min",
    "_fps": "100kpps",
    "_bps": "500Mb/s",
    "_rps": "1000",
    "_bytes": "64, 1518",
    "_m": "0.20m",
    "require": "throughput[64] >= 0.5 Mpps",
}


def _one(typed: Typed, name: str) -> str:
    return next(iter(typed.get(name, ())), "").strip()
