"""Bodies of requests and answers of errors, for all paths of the server. Whatever is sent, nothing here fails."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from keisoku.errors import PlanError

MOST_BODY_BYTES = 16 * 2**20
BODY_S = 30.0
"""Within this time a body must have come."""


async def body(request: Request) -> Any:
    """The JSON value that was sent. Raises PlanError for one that is too long, too slow, or none."""
    parts, length = [], 0
    try:
        async with asyncio.timeout(BODY_S):
            async for part in request.stream():
                length += len(part)
                if length > MOST_BODY_BYTES:
                    raise PlanError("body", "is too long", f"send {MOST_BODY_BYTES >> 20} MiB at most")
                parts.append(part)
    except TimeoutError:
        raise PlanError("body", f"did not come within {BODY_S:g} s", "send it at once") from None
    try:
        document = json.loads(b"".join(parts))
        # Numbers and texts that JSON cannot hold must not come in: they could not go out again.
        json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
        return document
    except (ValueError, RecursionError) as error:
        raise PlanError("body", f"is not JSON: {error}", "correct it") from error


def problem(code: int, kind: str, *errors: str) -> JSONResponse:
    """OTG's Error, which our own paths answer as well."""
    # A request may hold texts that no encoding can; an answer may not.
    safe = [error.encode(errors="replace").decode() for error in errors]
    return JSONResponse({"code": code, "kind": kind, "errors": safe}, status_code=code)
