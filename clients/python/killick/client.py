"""client.py - clients and sessions."""
import asyncio
import dataclasses
import os
import sys
import warnings
from typing import Any, AsyncIterator, Callable, Dict, Iterable, List, Mapping, Optional, Set

from . import find
from .error import CLOSED, PROTOCOL, SYSTEM, USAGE, KillickError
from .wire import Answerer, Handlers, HubLink, Listener

# Seconds. The hub has shorter timeouts of its own; these are for a hub that does not answer at all.
CONNECT_S = 20.0
REQUEST_S = 60.0
CREATE_S = 600.0     # servers may have to be downloaded
CALL_S = 3600.0
CALL_MARGIN_S = 5.0  # the hub ends a call at its timeout; the answer takes a moment
EVENTS_MAX = 4096    # that wait for one iterator
QUESTIONS = {"elicitation": "elicitation/create", "sampling": "sampling/createMessage", "roots": "roots/list"}
LISTS = ("tools", "prompts", "resources")


@dataclasses.dataclass(frozen=True)
class Report:
    """How the servers of a session ended, or those that a refresh replaced."""
    session: str
    ended: List[Dict[str, Any]]  # one object for each server, as in killick_report_json (killick.h)
    kept: List[Dict[str, Any]]   # servers that other sessions use: {"server", "sessions"}; of a refresh: empty
    survivors: int               # processes that could not be killed
    proved: bool                 # every ended server is proved gone, with every process that it started
    ms: float
    servers: List[Dict[str, Any]] = dataclasses.field(default_factory=list)  # of a refresh: the new set
    unchanged: List[str] = dataclasses.field(default_factory=list)  # of a refresh: names of the servers that stayed

    @classmethod
    def _of(cls, result: Dict[str, Any]) -> "Report":
        return cls(session=str(result.get("session", "")), ended=list(result.get("ended", [])),
                   kept=list(result.get("kept", [])), survivors=int(result.get("survivors", 0)),
                   proved=bool(result.get("proved", False)), ms=float(result.get("ms", 0)),
                   servers=list(result.get("servers", [])), unchanged=list(result.get("unchanged", [])))


class Session:
    """A set of MCP servers. Made by Client.create_session; ends with disconnect(), or with its client."""

    def __init__(self, client: "Client", link: HubLink, created: Dict[str, Any], has_lease: bool):
        self.id: str = str(created.get("session", ""))
        self.tag: Optional[str] = created.get("tag")
        self.servers: List[Dict[str, Any]] = list(created.get("servers", []))  # name, state, error, when created
        self._client = client  # keeps the connection open
        self._link = link
        self._has_lease = has_lease
        self._ending: "Optional[asyncio.Future[Report]]" = None

    async def list_tools(self, server: Optional[str] = None, *, timeout: float = CALL_S) -> List[Dict[str, Any]]:
        """The tools, with plain names if there is one server, else with qualified names."""
        result = await self._request("tool.list", {"server": server}, timeout)
        return list(result.get("tools", []))

    async def call_tool(self, name: str, arguments: Optional[Mapping[str, Any]] = None, *,
                        server: Optional[str] = None, timeout: Optional[float] = None,
                        on_progress: Optional[Listener] = None) -> Dict[str, Any]:
        """The CallToolResult. `name` as in list_tools, or with `server` as the server names it. `timeout` in seconds;
        None: the config of the server decides. A failure that the tool reports is a result with isError. `on_progress` is
        called with the name of the server and the params of each notifications/progress: progress, total, message."""
        params: Dict[str, Any] = {"server": server, "tool": name,
                                  "arguments": None if arguments is None else dict(arguments)}
        return await self._call("tool.call", params, params, timeout, on_progress)

    async def request(self, method: str, params: Optional[Mapping[str, Any]] = None, *, server: Optional[str] = None,
                      timeout: Optional[float] = None, on_progress: Optional[Listener] = None) -> Dict[str, Any]:
        """Any other request of MCP, such as "resources/read"."""
        given: Dict[str, Any] = dict(params or {})
        return await self._call("mcp.request", {"server": server, "method": method, "params": given}, given, timeout,
                                on_progress)

    async def refresh(self, mcp_servers: Optional[Mapping[str, Any]] = None, *, config: Optional[str] = None,
                      environments: Optional[Mapping[str, Any]] = None, env: Optional[Mapping[str, str]] = None,
                      cwd: Optional[str] = None, timeout: float = CREATE_S) -> Report:
        """Replace the set of servers; unchanged servers keep running. Returns when the others are proved gone."""
        params = _config_params(mcp_servers, config, environments, env, cwd)
        report = Report._of(await self._request("session.refresh", params, timeout))
        self.servers = report.servers
        return report

    async def renew(self, *, timeout: float = REQUEST_S) -> None:
        """Use the session, so that its lease begins again."""
        await self._request("session.renew", {}, timeout)

    async def disconnect(self, *, timeout: float = REQUEST_S) -> Report:
        """End the session. Returns when its servers are proved gone (or belong to other sessions too). A second
        disconnect returns the same report."""
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._end(timeout))
        return await asyncio.shield(self._ending)

    async def _end(self, timeout: float) -> Report:
        try:
            return Report._of(await self._request("session.destroy", {}, timeout))
        finally:
            self._client._sessions.discard(self)
            self._link.forget_session(self.id)

    async def _call(self, method: str, params: Dict[str, Any], mcp_params: Dict[str, Any], timeout: Optional[float],
                    on_progress: Optional[Listener]) -> Dict[str, Any]:
        """mcp_params: the part of params that has the member _meta."""
        limit = CALL_S
        if timeout is not None:
            params["timeoutMs"] = max(1, int(timeout * 1000))
            limit = timeout + CALL_MARGIN_S
        if on_progress is None:
            return await self._request(method, params, limit)
        token = self._link.add_progress(on_progress)
        mcp_params["_meta"] = {**(mcp_params.get("_meta") or {}), "progressToken": token}
        try:
            return await self._request(method, params, limit)
        finally:
            self._link.forget_progress(token)

    async def _request(self, method: str, params: Dict[str, Any], timeout: float) -> Dict[str, Any]:
        given = {name: value for name, value in params.items() if value is not None}
        return _object(await self._link.request(method, {"session": self.id, **given}, timeout), method)

    async def __aenter__(self) -> "Session":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.disconnect()


class Client:
    """A connection to the hub of this user, which is started if no hub runs. The sessions of a client end with the
    client, also when its process is killed. Calls may be made at the same time; they share the connection.

    daemon   False: a hub of this process alone, a child that ends with the process. None: True, on Windows False
    socket   the socket of the hub; None: where hubs of this user listen
    program  the program `killick`; None: $KILLICK, else the one in PATH
    timeout  seconds for connecting, including the start of a hub
    """

    def __init__(self, *, daemon: Optional[bool] = None, socket: Optional[str] = None, program: Optional[str] = None,
                 timeout: float = CONNECT_S):
        self._daemon = sys.platform != "win32" if daemon is None else daemon
        self._socket = socket
        self._program = program
        self._timeout = timeout
        self._link: Optional[HubLink] = None
        self._connecting: Optional[asyncio.Lock] = None  # made in the event loop that uses it (Python 3.9)
        self._closed = False
        self._sessions: Set[Session] = set()
        self._events: "Set[asyncio.Queue[Optional[Dict[str, Any]]]]" = set()

    async def open(self) -> "Client":
        """Connect. Called by `async with`, and by the first request."""
        await self._connected()
        return self

    async def create_session(self, mcp_servers: Optional[Mapping[str, Any]] = None, *, config: Optional[str] = None,
                             environments: Optional[Mapping[str, Any]] = None, tag: Optional[str] = None,
                             lease: Optional[float] = None, on_elicitation: Optional[Answerer] = None,
                             on_sampling: Optional[Answerer] = None, on_roots: Optional[Answerer] = None,
                             on_log: Optional[Listener] = None,
                             on_list_changed: Optional[Callable[[str], object]] = None,
                             on_resource_updated: Optional[Listener] = None,
                             wait: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
                             cwd: Optional[str] = None, timeout: float = CREATE_S) -> Session:
        """Start a session; returns when each server is ready or failed (`wait`="required": only required servers).

        mcp_servers   the servers, as in a config (killick-config(5)); or `config`, the path of a config
        environments  executors that servers can be placed on
        tag           shown by `killick hub sessions`
        lease         seconds that the session stays without use; None: it ends with this client
        on_elicitation, on_sampling, on_roots
                      answer the questions of servers; called with the name of the server and the params of
                      elicitation/create, sampling/createMessage or roots/list, return the result of MCP, now or
                      awaited. An exception becomes an error for the server; a question that the server withdraws is
                      cancelled. Only what has a function is declared to servers.
        on_log, on_resource_updated
                      get the log messages of servers, and the changes of resources after a request of
                      "resources/subscribe": the name of the server and the params of notifications/message or
                      notifications/resources/updated. The request "logging/setLevel" chooses the level of log messages.
        on_list_changed
                      is called with "tools", "prompts" or "resources" when this list of the session has changed
        env, cwd      variables and directory that the servers get and that ${VAR} is taken from; None: those of this
                      process
        """
        params = _config_params(mcp_servers, config, environments, env, cwd)
        asked = {"elicitation": on_elicitation, "sampling": on_sampling, "roots": on_roots}
        listeners = _listeners(on_log, on_list_changed, on_resource_updated)
        answerers = {QUESTIONS[name]: answerer for name, answerer in asked.items() if answerer is not None}
        params.update({"tag": tag, "wait": wait, "lease": None if lease is None else int(lease * 1000),
                       "features": [name for name, answerer in asked.items() if answerer is not None] or None,
                       "notifications": bool(listeners) or None})
        given = {name: value for name, value in params.items() if value is not None}
        link, created = await self._create(given, timeout, {**answerers, **listeners})
        session = Session(self, link, _object(created, "session.create"), lease is not None)
        self._sessions.add(session)
        return session

    async def session(self, session_id: str) -> Session:
        """A session that has a lease and was created by another client."""
        return Session(self, await self._connected(), {"session": session_id}, True)

    async def request(self, method: str, params: Optional[Mapping[str, Any]] = None, *,
                      timeout: float = REQUEST_S) -> Dict[str, Any]:
        """Any request of the control API (killick-hub(7)), such as "hub.status"."""
        link = await self._connected()
        return _object(await link.request(method, dict(params or {}), timeout), method)

    async def events(self, names: Optional[Iterable[str]] = None) -> AsyncIterator[Dict[str, Any]]:
        """Events of the hub, until the connection ends. When the iterator is not read, old events are dropped."""
        queue: "asyncio.Queue[Optional[Dict[str, Any]]]" = asyncio.Queue()
        await self._connected()
        self._events.add(queue)
        try:
            await self.request("events.subscribe", {} if names is None else {"events": list(names)})
            while True:
                event = await queue.get()
                if event is None:
                    return
                yield event
        finally:
            self._events.discard(queue)

    async def close(self, *, timeout: float = REQUEST_S) -> None:
        """End every session that has no lease, wait until their servers are proved gone, and disconnect."""
        self._closed = True
        link, self._link = self._link, None
        if link is None:
            return
        try:
            if link.is_open:
                sessions = [s for s in self._sessions if s._link is link and not s._has_lease]
                await asyncio.gather(*(s.disconnect(timeout=timeout) for s in sessions), return_exceptions=True)
        finally:
            await link.close(timeout)

    async def _create(self, params: Dict[str, Any], timeout: float, handlers: Handlers) -> "tuple[HubLink, Any]":
        link = await self._connected()
        try:
            return link, await link.request("session.create", params, timeout, handlers)
        except KillickError as e:
            if e.code != CLOSED or self._closed:
                raise
        link = await self._connected()  # the hub left, or was killed: the next one gets the session
        return link, await link.request("session.create", params, timeout, handlers)

    async def _connected(self) -> HubLink:
        if self._connecting is None:
            self._connecting = asyncio.Lock()
        async with self._connecting:
            if self._closed:
                raise KillickError(CLOSED, "the client was closed")
            if self._link is None or not self._link.is_open:
                if self._daemon:
                    self._link = await find.connect(self._socket, self._program, self._timeout)
                else:
                    self._link = await find.start_private(self._program, self._timeout)
                _forward_events(self._link, self._events)
            if self._closed:  # meanwhile
                await self._link.close(REQUEST_S)
                raise KillickError(CLOSED, "the client was closed")
            return self._link

    async def __aenter__(self) -> "Client":
        return await self.open()

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __del__(self) -> None:
        link = getattr(self, "_link", None)
        if link is not None and link.is_open:
            warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self)
            link.abandon()


def _forward_events(link: HubLink, queues: "Set[asyncio.Queue[Optional[Dict[str, Any]]]]") -> None:
    """The link gets no reference to the client, so that a forgotten client is freed."""
    def on_event(event: Dict[str, Any]) -> None:
        for queue in queues:
            if queue.qsize() >= EVENTS_MAX:
                queue.get_nowait()
            queue.put_nowait(event)

    def on_closed() -> None:
        for queue in queues:
            queue.put_nowait(None)

    link.on_event, link.on_closed = on_event, on_closed


def _listeners(on_log: Optional[Listener], on_list_changed: Optional[Callable[[str], object]],
               on_resource_updated: Optional[Listener]) -> Dict[str, Listener]:
    """The functions that are given, by the method of their notification."""
    found: Dict[str, Listener] = {}
    if on_log is not None:
        found["notifications/message"] = on_log
    if on_resource_updated is not None:
        found["notifications/resources/updated"] = on_resource_updated
    if on_list_changed is not None:
        for name in LISTS:
            found[f"notifications/{name}/list_changed"] = _list_listener(on_list_changed, name)
    return found


def _list_listener(on_list_changed: Callable[[str], object], name: str) -> Listener:
    return lambda server, params: on_list_changed(name)


def _config_params(mcp_servers: Optional[Mapping[str, Any]], config: Optional[str],
                   environments: Optional[Mapping[str, Any]], env: Optional[Mapping[str, str]],
                   cwd: Optional[str]) -> Dict[str, Any]:
    if (mcp_servers is None) == (config is None):
        raise KillickError(USAGE, "give either mcp_servers or config")
    directory = _own_cwd() if cwd is None else os.path.abspath(cwd)
    return {"mcpServers": None if mcp_servers is None else dict(mcp_servers),
            "config": None if config is None else os.path.join(directory, config),
            "environments": None if environments is None else dict(environments),
            "environ": {name: value for name, value in (os.environ if env is None else env).items() if _is_text(value)},
            "cwd": directory}


def _own_cwd() -> str:
    try:
        return os.getcwd()
    except OSError as e:
        raise KillickError(SYSTEM, f"the working directory cannot be used ({e.strerror}); give cwd") from None


def _is_text(value: str) -> bool:
    """JSON has no way to write the bytes of a variable that are not UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _object(result: Any, method: str) -> Dict[str, Any]:
    if not isinstance(result, dict):
        raise KillickError(PROTOCOL, f"the result of {method} is not an object")
    return result
