"""The process that speaks NETCONF: the agent of yuma123 (Debian's netconfd), with keisoku behind its datastore.

It is started as a program by `server.py`, and imports nothing of keisoku. What is committed, and what a client reads of
state, it asks at a socket: a line of JSON each way. It sees no port, and knows no traffic.

`netconfd` itself is a few calls of the library libyumaagt, which are here the same, and in their order. The library
calls back before a commit, after it, and for each container of state that is read.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

_POINTER, _INT, _TEXT, _BOOL = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_bool
_LOG_ERRORS, _XML_WITHOUT_NAMESPACES = 2, 5
"""`log_debug_t`, `ncx_display_mode_t`."""
_RUNNING = 0
_LAYER_CONTENT, _NODE_NONE, _NODE_STRING = 4, 0, 6
"""`ncx_cfg_t`, `ncx_layer_t`, `ncx_node_t`."""
_INVALID_VALUE = 258
"""`status_t`; a client sees `invalid-value`."""
_DIE_WITH_PARENT = 1
_INTERFACES = b"ietf-interfaces"
_STATES = {
    "generator": (b"ietf-traffic-generator", b"traffic-generator", b"keisoku-tester"),
    "analyzer": (b"ietf-traffic-analyzer", b"traffic-analyzer", b"ietf-traffic-analyzer"),
}
"""Module and name of the container below an interface, and the module of the container `state` in it."""
_CORE = (b"yuma123-netconf", b"netconfd-ex")
_DEFAULTS = b"ietf-netconf-with-defaults"

_Validate = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _POINTER)
_Complete = ctypes.CFUNCTYPE(_INT)
_Get = ctypes.CFUNCTYPE(_INT, _POINTER, _INT, _POINTER, _POINTER)


class _ErrorInfo(ctypes.Structure):
    """`ncx_errinfo_t`: what a client is told of an error."""

    _fields_ = [
        ("kind", ctypes.c_ushort),
        ("previous", _POINTER),
        ("next", _POINTER),
        ("description", _TEXT),
        ("reference", _TEXT),
        ("tag", _TEXT),
        ("message", _TEXT),
        ("seen", _BOOL),
    ]


_FUNCTIONS: tuple[tuple[str, Any, tuple[Any, ...]], ...] = (
    ("ncx_init", _INT, (_BOOL, _INT, _BOOL, _TEXT, _INT, _POINTER)),
    ("ncxmod_load_module", _INT, (_TEXT, _TEXT, _POINTER, _POINTER)),
    ("agt_init1", _INT, (_INT, _POINTER, _POINTER, _POINTER)),
    ("agt_init2", _INT, ()),
    ("agt_ncxserver_run", _INT, ()),
    ("agt_disable_feature", None, (_TEXT, _TEXT)),
    ("agt_cleanup", None, ()),
    ("ncx_cleanup", None, ()),
    ("agt_commit_validate_register", _INT, (_TEXT, _Validate)),
    ("agt_commit_complete_register", _INT, (_TEXT, _Complete)),
    (
        "agt_record_error_errinfo",
        None,
        (_POINTER, _POINTER, _INT, _INT, _POINTER, _INT, _POINTER, _INT, _TEXT, _POINTER),
    ),
    ("cfg_get_root", _POINTER, (_INT,)),
    ("obj_find_child", _POINTER, (_POINTER, _TEXT, _TEXT)),
    ("val_find_child", _POINTER, (_POINTER, _TEXT, _TEXT)),
    ("val_get_first_child", _POINTER, (_POINTER,)),
    ("val_get_next_child", _POINTER, (_POINTER,)),
    ("val_make_sprintf_string", _POINTER, (_POINTER,)),
    ("val_make_serialized_string", _INT, (_POINTER, _INT, _POINTER)),
    ("val_clone_config_data", _POINTER, (_POINTER, _POINTER)),
    ("val_free_value", None, (_POINTER,)),
    ("val_new_value", _POINTER, ()),
    ("val_init_virtual", None, (_POINTER, _Get, _POINTER)),
    ("val_add_child", None, (_POINTER, _POINTER)),
    ("val_set_cplxval_obj", _INT, (_POINTER, _POINTER, _TEXT)),
    ("ncx_find_module", _POINTER, (_TEXT, _TEXT)),
    ("ncx_find_object", _POINTER, (_POINTER, _TEXT)),
)


def _library() -> Any:
    """All functions, by name. libyumaagt needs libyumancx, whose functions are found through it."""
    ctypes.CDLL("libyumancx.so.2", ctypes.RTLD_GLOBAL)
    found = ctypes.CDLL("libyumaagt.so.2", ctypes.RTLD_GLOBAL)
    for name, result, arguments in _FUNCTIONS:
        function = getattr(found, name)
        function.restype, function.argtypes = result, arguments
    return found


class Agent:
    """Raises RuntimeError if the library refuses what `netconfd` asks of it."""

    def __init__(self, ask: Callable[[dict[str, str]], dict[str, str]]) -> None:
        self._ask = ask
        self._yuma = _library()
        self._free = ctypes.CDLL(None).free
        self._free.argtypes = (_POINTER,)
        self._states: dict[tuple[str, str], Any] = {}
        """Functions that the library calls must not be forgotten."""
        self._validate, self._complete = _Validate(self._validated), _Complete(self._completed)

    def run(self, absent: list[str], options: list[str]) -> None:
        """Serves until it is told to end. `absent`: features that modules do not have here, as MODULE:FEATURE;
        `options` are those of netconfd."""
        yuma = self._yuma
        words = [b"netconfd", *(option.encode() for option in options)]
        listed = (ctypes.c_char_p * (len(words) + 1))(*words, None)
        self._check("ncx_init", False, _LOG_ERRORS, True, b"", len(words), listed)
        for module in _CORE:
            self._check("ncxmod_load_module", module, None, None, None)
        version, helps = _BOOL(), _INT()
        self._check("agt_init1", len(words), listed, ctypes.byref(version), ctypes.byref(helps))
        self._check("ncxmod_load_module", _DEFAULTS, None, None, None)
        for name in absent:
            # The option of netconfd for it ends version 2.13 with a segmentation fault.
            yuma.agt_disable_feature(*(word.encode() for word in name.split(":")))
        self._check("agt_init2")
        self._check("agt_commit_validate_register", b"keisoku", self._validate)
        self._check("agt_commit_complete_register", b"keisoku", self._complete)
        yuma.agt_ncxserver_run()
        yuma.agt_cleanup()
        yuma.ncx_cleanup()

    def _check(self, name: str, *arguments: Any) -> None:
        if status := getattr(self._yuma, name)(*arguments):
            raise RuntimeError(f"{name} answers {status}")

    def _validated(self, session: int, message: int, root: int) -> int:
        """Before a commit: keisoku carries it out, or says what is wrong."""
        said = self._ask({"ask": "commit", "config": self._xml(root)})
        if "problem" not in said:
            return 0
        told = _ErrorInfo(message=said["problem"].encode())
        path = said["path"].encode()
        where = self._copy(path)
        content = _LAYER_CONTENT, _INVALID_VALUE, None, _NODE_NONE, None, _NODE_STRING if path else _NODE_NONE, where
        self._yuma.agt_record_error_errinfo(session, message, *content, ctypes.byref(told))
        return _INVALID_VALUE

    def _copy(self, text: bytes) -> ctypes.Array[ctypes.c_char] | None:
        """Of the library's kind of text, kept until the next error."""
        self._kept = ctypes.create_string_buffer(text) if text else None
        return self._kept

    def _completed(self) -> int:
        """After a commit, also one that takes an unconfirmed one back: containers of state are added where there are
        none."""
        yuma, status = self._yuma, _INT()
        root = yuma.cfg_get_root(_RUNNING)
        if not root:
            return 0
        config = yuma.val_clone_config_data(root, ctypes.byref(status))
        self._ask({"ask": "committed", "config": self._xml(config)})
        yuma.val_free_value(config)
        for interface in self._children(yuma.val_find_child(root, _INTERFACES, b"interfaces")):
            name = yuma.val_find_child(interface, _INTERFACES, b"name")
            for kind in _STATES:
                if name:
                    self._add_state(interface, self._text(yuma.val_make_sprintf_string(name)), kind)
        return 0

    def _children(self, parent: int | None) -> list[int]:
        found, child = [], self._yuma.val_get_first_child(parent) if parent else None
        while child:
            found.append(child)
            child = self._yuma.val_get_next_child(child)
        return found

    def _add_state(self, interface: int, name: str, kind: str) -> None:
        yuma = self._yuma
        module, container, owner = _STATES[kind]
        parent = yuma.val_find_child(interface, module, container)
        if not parent or yuma.val_find_child(parent, owner, b"state"):
            return
        of_parent = self._object(module, container)
        of_state = yuma.obj_find_child(of_parent, owner, b"state")

        def get(session: int, mode: int, virtual: int, value: int) -> int:
            said = self._ask({"ask": kind, "interface": name})
            status: int = yuma.val_set_cplxval_obj(value, of_state, said["xml"].encode())
            return status

        state = yuma.val_new_value()
        self._states[name, kind] = _Get(get)
        yuma.val_init_virtual(state, self._states[name, kind], of_state)
        yuma.val_add_child(state, parent)

    def _object(self, module: bytes, container: bytes) -> int:
        """The definition of a container below an interface."""
        yuma = self._yuma
        top = yuma.ncx_find_object(yuma.ncx_find_module(_INTERFACES, None), b"interfaces")
        interface = yuma.obj_find_child(top, _INTERFACES, b"interface")
        found: int = yuma.obj_find_child(interface, module, container)
        return found

    def _xml(self, value: int) -> str:
        made = _POINTER()
        self._check("val_make_serialized_string", value, _XML_WITHOUT_NAMESPACES, ctypes.byref(made))
        return self._text(made.value)

    def _text(self, made: int | None) -> str:
        found = ctypes.string_at(made).decode() if made else ""
        self._free(made)
        return found


def _main() -> None:
    channel, absent, *options = sys.argv[1:]
    if ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL) != 0:
        raise RuntimeError("prctl failed")
    with socket.socket(socket.AF_UNIX) as wire:
        wire.connect(channel)
        lines = wire.makefile("rw", encoding="utf-8")

        def ask(question: dict[str, str]) -> dict[str, str]:
            try:
                lines.write(json.dumps(question) + "\n")
                lines.flush()
                answer = lines.readline()
            except OSError:
                answer = ""
            if not answer:
                os._exit(0)  # keisoku has ended, and nobody can be answered any more
            found: dict[str, str] = json.loads(answer)
            return found

        Agent(ask).run(absent.split(), options)


if __name__ == "__main__":
    _main()
