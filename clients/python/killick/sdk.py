"""sdk.py - for programs that use the official Python SDK of MCP (the package `mcp`, which killick does not need)."""
import contextlib
import importlib
from typing import Any, AsyncIterator, Optional

from .error import SYSTEM, KillickError
from .find import program_path


@contextlib.asynccontextmanager
async def stdio_client(server: Any, errlog: Any = None, *, program: Optional[str] = None) -> AsyncIterator[Any]:
    """In place of mcp.client.stdio.stdio_client, with the same arguments and the same streams:

        async with killick.stdio_client(StdioServerParameters(command="mcp-files")) as (read, write):
            async with ClientSession(read, write) as session:

    The SDK starts `killick run -- COMMAND` instead of the command, so every process that the server started ends with the
    block, and with this process. `program` is the program `killick`; None: $KILLICK, else the one in PATH."""
    try:
        stdio = importlib.import_module("mcp.client.stdio")
    except ImportError as e:
        raise KillickError(SYSTEM, f"killick.stdio_client needs the package 'mcp': {e}; pip install mcp") from None
    words = ["run", "--", server.command, *server.args]
    held = server.model_copy(update={"command": program_path(program), "args": words})
    async with stdio.stdio_client(held, **({} if errlog is None else {"errlog": errlog})) as streams:
        yield streams
