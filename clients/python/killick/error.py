"""error.py - the one exception of this package."""
from typing import Any, Dict, Optional

# Errors that this package finds itself have the numbers of enum killick_code (killick.h).
USAGE = -1
CLOSED = -6     # the session or the client was closed, or the hub ended
TIMEOUT = -7
PROTOCOL = -10  # an answer of the hub has the wrong shape
SYSTEM = -12    # no hub could be started, and the like

# Errors of the hub have JSON-RPC numbers (killick-hub(7)). An error that an MCP server answered has the number that
# the server gave it.
HUB_FAILED = -32000
HUB_NOT_FOUND = -32001  # no such session or server
HUB_NO_METHOD = -32601
HUB_BAD_PARAMS = -32602


class KillickError(Exception):
    """A request failed. `message` is a sentence: the thing, the reason, the next step."""

    def __init__(self, code: int, message: str, data: Optional[Any] = None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    @property
    def reason(self) -> Optional[str]:
        """Why a request to a server failed: "timeout", "exited", "closed", "busy", ...; None: the code says it all."""
        if self.code == TIMEOUT:
            return "timeout"
        reason = self.data.get("reason") if self.code == HUB_FAILED and isinstance(self.data, dict) else None
        return reason if isinstance(reason, str) else None

    def __repr__(self) -> str:
        return f"KillickError({self.code}, {self.message!r})"


def answer_error(error: Dict[str, Any]) -> KillickError:
    """The error that the hub answered. A timeout has one number, whether the hub or this package noticed it."""
    code, data = int(error.get("code", PROTOCOL)), error.get("data")
    if code == HUB_FAILED and isinstance(data, dict) and data.get("reason") == "timeout":
        code = TIMEOUT
    return KillickError(code, str(error.get("message", "")), data)
