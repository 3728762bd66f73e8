"""The addresses of a host by its name, of which one is asked at a time. Never sends a question itself."""

from __future__ import annotations

import threading
import time

from keisoku.errors import EngineError
from keisoku.ground.host.place import Place

_AGAIN_S = 1.0


class Addresses:
    """As an application does: after a failure the next one is asked, and the name is resolved again meanwhile.

    Used in the calling thread's namespace. Raises EngineError if there is no such host.
    """

    def __init__(self, host: str) -> None:
        self._place, self._looked_s = Place(host), 0.0
        self._found = self._place.addresses()
        self._look: threading.Thread | None = None
        self.used = [self._found[0]]
        """Every address that was asked, in the order of the first time."""
        self.current = self._found[0]
        """The one to be asked."""

    def failed(self, address: str) -> None:
        """The one to be asked is the next one, unless that is so already since a failure before."""
        if address != self.current or self._found == [self._place.host]:
            return
        found = self._found
        self.current = found[(found.index(address) + 1) % len(found) if address in found else 0]
        if self.current not in self.used:
            self.used.append(self.current)
        if (self._look is None or not self._look.is_alive()) and time.monotonic() >= self._looked_s + _AGAIN_S:
            self._looked_s = time.monotonic()
            # A name server that does not answer must not keep questions back.
            self._look = threading.Thread(target=self._resolve, daemon=True)
            self._look.start()

    def _resolve(self) -> None:
        try:
            self._found = self._place.addresses()
        except EngineError:  # then the ones from before are asked on
            return
