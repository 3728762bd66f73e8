"""Who may change something from a browser. Another site's page in the same browser may not, nor may it read.

Without tokens only who has the key that the server printed starts and ends runs: a browser that was opened with it, or
a program that sends it as a Bearer token. Requests must name this server by an address (a name of another site could be
made to lead here: DNS rebinding), unless clients show a token or a certificate. What a browser changes must come from
the server's own page (Origin, and Sec-Fetch-Site where a browser sends it).
"""

from __future__ import annotations

import hmac
import secrets
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.requests import Request

COOKIE = "keisoku_key"


class WebAccess:
    """Of one server; `tokens` says whether clients have shown a token before they come here, `certificates` whether
    they have shown a certificate, with the server's own of its name before that."""

    def __init__(self, tokens: bool = False, certificates: bool = False) -> None:
        self.key = secrets.token_urlsafe(18)
        """For starting runs, where there are no tokens."""
        self._tokens = tokens
        self._any_name = tokens or certificates

    def reads(self, request: Request) -> bool:
        """Whether the request names this server, and not a site that leads here."""
        host = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
        if self._any_name or host == "localhost":
            return True
        try:
            ip_address(host)
        except ValueError:
            return False
        return True

    def is_key(self, given: str | None) -> bool:
        """Whether it is this server's key."""
        return hmac.compare_digest((given or "").encode(), self.key.encode())

    def changes(self, request: Request) -> bool:
        """Whether whoever sent the request may start runs."""
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        sent = given if scheme.lower() == "bearer" else request.cookies.get(COOKIE)
        return self._tokens or self.is_key(sent)

    def from_own_page(self, request: Request) -> bool:
        """Whether a request that changes something was sent by this server's page."""
        origin = urlsplit(request.headers.get("origin", ""))
        site = request.headers.get("sec-fetch-site", "same-origin")
        same = origin.netloc == request.headers.get("host") and origin.scheme == request.url.scheme
        return bool(origin.netloc) and same and site == "same-origin"
