"""killick - sessions with MCP servers that end with their session.

    async with killick.Client() as client:
        session = await client.create_session(mcp_servers={"files": {"command": "mcp-files"}})
        tools = await session.list_tools()
        result = await session.call_tool("read_file", {"path": "/etc/motd"})
        report = await session.disconnect()    # the servers are proved gone: report.proved

A client is a connection to the hub (`killick hub`), which holds the servers of all programs of a user. With
Client(daemon=False) this process has a hub of its own, which ends with the process.
"""
from .client import Client, Report, Session
from .error import (CLOSED, HUB_BAD_PARAMS, HUB_FAILED, HUB_NO_METHOD, HUB_NOT_FOUND, PROTOCOL, SYSTEM, TIMEOUT, USAGE,
                    KillickError)
from .sdk import stdio_client

__version__ = "0.2.0"
__all__ = ["Client", "Session", "Report", "KillickError", "stdio_client", "USAGE", "CLOSED", "TIMEOUT", "PROTOCOL", "SYSTEM",
           "HUB_FAILED", "HUB_NOT_FOUND", "HUB_NO_METHOD", "HUB_BAD_PARAMS"]
