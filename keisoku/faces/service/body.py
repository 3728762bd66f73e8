"""Bodies of requests and error answers, for all paths of the server. No request makes it fail."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from keisoku.errors import KeisokuError, Occupied, PlanError

MOST_BODY_BYTES = 16 * 2**20
BODY_S = 10.0
"""Within this time a body must have arrived."""


async def sent(request: Request) -> bytes:
    """The body as it was sent. Raises PlanError if it is too slow, or too long, at once where that is announced."""
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > MOST_BODY_BYTES:
        raise _too_long()
    parts, length = [], 0
    try:
        async with asyncio.timeout(BODY_S):
            async for part in request.stream():
                length += len(part)
                if length > MOST_BODY_BYTES:
                    raise _too_long()
                parts.append(part)
    except TimeoutError:
        raise PlanError("body", f"did not arrive within {BODY_S:g} s", "send it without pauses") from None
    return b"".join(parts)


def _too_long() -> PlanError:
    return PlanError("body", "is too long", f"send {MOST_BODY_BYTES >> 20} MiB at most")


async def body(request: Request) -> Any:
    """The JSON value that was sent. Raises PlanError if it is too long, too slow, or invalid."""
    text = await sent(request)
    try:
        document = json.loads(text)
        # Numbers and texts that JSON cannot contain are refused: they could not be sent in an answer.
        json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
        return document
    except (ValueError, RecursionError) as error:
        raise PlanError("body", f"is not JSON: {error}", "correct it") from error


def refusal(error: KeisokuError) -> JSONResponse:
    """What the client can mend, or who keeps its ports and the device; status 500 says that keisoku itself failed."""
    return problem(409 if isinstance(error, Occupied) else 400, "validation", str(error))


def problem(code: int, kind: str, *errors: str) -> JSONResponse:
    """OTG's Error, which keisoku's own paths use as well."""
    # A request may contain texts that cannot be encoded; an answer must not.
    safe = [error.encode(errors="replace").decode() for error in errors]
    return JSONResponse({"code": code, "kind": kind, "errors": safe}, status_code=code)
