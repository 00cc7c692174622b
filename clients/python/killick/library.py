"""library.py - the calls of a client over libkillick (ctypes) instead of a hub: the servers belong to this process.

The runtime has KILLICK_DISPATCH_PULL. A thread waits in killick_next() and passes each item to the event loop. All other
functions that are used here return at once, except killick_free, which runs in a thread of its own.
Structs begin with their size, so each is declared only up to the last member that is used (killick.h).
"""
import asyncio
import ctypes
import ctypes.util
import json
import os
import sys
import threading
from ctypes import POINTER, byref, c_bool, c_char, c_char_p, c_int, c_long, c_size_t, c_uint, c_void_p, sizeof
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional

from .error import CLOSED, HUB_BAD_PARAMS, HUB_FAILED, HUB_NO_METHOD, HUB_NOT_FOUND, SYSTEM, TIMEOUT, USAGE, KillickError

DISPATCH_PULL = 2
OP_TOOLS, OP_CALL, OP_RAW = 0, 4, 12
ITEM_RESULT, ITEM_OPENED, ITEM_ENDED = 3, 4, 5
WAITS = {"settled": 0, "required": 1}
FEATURES = {"sampling": 1, "elicitation": 2, "roots": 4}
ERR_NO_SERVER, ERR_ANSWER = -3, -9


class Error(ctypes.Structure):
    _fields_ = [("code", c_int), ("text", c_char * 512)]


class Options(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("keeper", c_char_p), ("dispatch", c_int)]


class SessionOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("config", c_char_p), ("config_file", c_char_p), ("command", c_void_p),
                ("only", c_char_p), ("label", c_char_p), ("wait", c_int), ("grace_ms", c_uint), ("drain_ms", c_uint),
                ("handlers", c_void_p), ("features", c_uint), ("env", c_void_p), ("cwd", c_char_p),
                ("startup_ms", c_uint), ("user_env", POINTER(c_char_p)), ("user_cwd", c_char_p)]


class Request(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("op", c_int), ("server", c_char_p), ("name", c_char_p), ("args", c_char_p),
                ("timeout_ms", c_long), ("progress_extends", c_bool), ("ctx", c_void_p)]


class Item(ctypes.Structure):
    _fields_ = [("kind", c_int), ("ctx", c_void_p), ("event", c_void_p), ("ask", c_void_p), ("progress", c_void_p),
                ("result", c_void_p), ("session", c_void_p), ("report", c_void_p), ("error", POINTER(Error))]


def load(given: Optional[str]) -> ctypes.CDLL:
    """The library, with the types of the functions that are used; handles are void pointers."""
    soname = "killick.dll" if sys.platform == "win32" else "libkillick.so.0"
    path = given or os.environ.get("KILLICK_LIBRARY")
    for name in [path] if path else [soname, ctypes.util.find_library("killick")]:
        try:
            lib = ctypes.CDLL(name) if name else None
        except OSError as e:
            lib, reason = None, str(e)
        if lib is not None:
            return declare(lib)
    raise KillickError(SYSTEM, f"cannot load libkillick: {reason}; install killick, or set KILLICK_LIBRARY to its full path")


def declare(lib: ctypes.CDLL) -> ctypes.CDLL:
    types: Dict[str, Any] = {
        "killick_open": (c_int, POINTER(Options), POINTER(c_void_p), POINTER(Error)),
        "killick_close": (c_int, c_void_p, c_void_p),
        "killick_free": (None, c_void_p),
        "killick_next": (c_int, c_void_p, c_long, POINTER(POINTER(Item))),
        "killick_item_free": (None, POINTER(Item)),
        "killick_session_open_start": (c_int, c_void_p, POINTER(SessionOptions), c_void_p, c_void_p, POINTER(Error)),
        "killick_session_refresh_start": (c_int, c_void_p, c_char_p, c_char_p, c_void_p, c_void_p, POINTER(Error)),
        "killick_session_close_start": (c_int, c_void_p, c_void_p, c_void_p),
        "killick_session_free": (None, c_void_p),
        "killick_start": (c_int, c_void_p, POINTER(Request), POINTER(c_void_p)),
        "killick_cancel": (None, c_void_p),
        "killick_call_free": (None, c_void_p),
        "killick_result_code": (c_int, c_void_p),
        "killick_result_error": (c_char_p, c_void_p),
        "killick_result_json": (c_void_p, c_void_p, POINTER(c_size_t)),
        "killick_result_free": (None, c_void_p),
        "killick_report_json": (c_void_p, c_void_p),  # not a c_char_p: that would be a copy, which cannot be freed
        "killick_report_free": (None, c_void_p),
        "killick_status": (c_int, c_void_p, POINTER(c_void_p)),
        "killick_status_json": (c_void_p, c_void_p),
        "killick_status_free": (None, c_void_p),
        "killick_code_name": (c_char_p, c_int),
    }
    try:
        for name, (result, *arguments) in types.items():
            function = getattr(lib, name)
            function.restype, function.argtypes = result, arguments
    except AttributeError as e:
        raise KillickError(SYSTEM, f"libkillick is too old for this package: {e}") from None
    return lib


C = ctypes.CDLL(None if sys.platform != "win32" else "msvcrt")  # of the library's malloc
C.free.argtypes = [c_void_p]


class Call(NamedTuple):
    """A _start function whose outcome has not come yet."""
    future: "asyncio.Future[Any]"
    late: Callable[[Any], None]  # given the outcome if the caller has left


class Open:
    """A session of the library."""

    def __init__(self, name: str, handle: int):
        self.name = name
        self.handle = handle


class LibraryLink:
    """What HubLink (wire.py) is, without a hub."""

    def __init__(self, library: Optional[str], program: Optional[str]):
        self.on_event: Optional[Callable[[Dict[str, Any]], None]] = None
        self.on_closed: Optional[Callable[[], None]] = None
        self._lib = load(library)
        self._loop = asyncio.get_running_loop()
        self._calls: Dict[int, Call] = {}
        self._last_ctx = 0
        self._sessions: Dict[str, Open] = {}
        self._last_session = 0
        self._closed = False
        keeper = program or os.environ.get("KILLICK")
        options = Options(size=sizeof(Options), keeper=os.fsencode(keeper) if keeper else None, dispatch=DISPATCH_PULL)
        error, runtime = Error(), c_void_p()
        if self._lib.killick_open(byref(options), byref(runtime), byref(error)) != 0:
            raise KillickError(SYSTEM, error.text.decode(errors="replace"))
        self._runtime = runtime
        self._thread = threading.Thread(target=pull, args=(self._lib, runtime, self._loop, self._calls), daemon=True,
                                        name="killick")
        self._thread.start()

    @property
    def is_open(self) -> bool:
        return not self._closed

    async def request(self, method: str, params: Dict[str, Any], timeout: float) -> Any:
        if self._closed:
            raise KillickError(CLOSED, "the client was closed")
        handler = METHODS.get(method)
        if handler is None:
            raise KillickError(HUB_NO_METHOD, f"'{method}' needs a hub; use Client() without daemon=False")
        return await handler(self, params, timeout)

    def abandon(self) -> None:
        """The client was forgotten: end its servers."""
        if not self._closed:
            self._closed = True
            threading.Thread(target=free_runtime, args=(self._lib, self._runtime, self._thread)).start()

    async def close(self, timeout: float) -> None:
        """killick_free has deadlines of its own for each server."""
        if not self._closed:
            self._closed = True
            await self._loop.run_in_executor(None, free_runtime, self._lib, self._runtime, self._thread)
            if self.on_closed is not None:
                self.on_closed()

    # --- outcomes ---

    def _call(self, late: Callable[[Any], None]) -> int:
        self._last_ctx += 1
        self._calls[self._last_ctx] = Call(self._loop.create_future(), late)
        return self._last_ctx

    async def _outcome(self, ctx: int, what: str, timeout: float) -> Any:
        future = self._calls[ctx].future
        try:
            await asyncio.wait([future], timeout=timeout)
        finally:
            is_late = future.cancel()
        if is_late:
            raise KillickError(TIMEOUT, f"{what} timed out after {timeout:g} s")
        return future.result()

    def _refused(self, ctx: int, error: Error) -> KillickError:
        del self._calls[ctx]
        return self._error(error.code, error.text.decode(errors="replace"))

    def _error(self, code: int, text: str, answer: Optional[Dict[str, Any]] = None) -> KillickError:
        """The same numbers as those of a hub."""
        if code == ERR_ANSWER and answer is not None:
            return KillickError(int(answer.get("code", HUB_FAILED)), str(answer.get("message", text)), answer.get("data"))
        numbers = {USAGE: HUB_BAD_PARAMS, ERR_NO_SERVER: HUB_NOT_FOUND}
        return KillickError(numbers.get(code, HUB_FAILED), text, {"reason": self._lib.killick_code_name(code).decode()})

    # --- sessions ---

    async def _create(self, params: Dict[str, Any], timeout: float) -> Dict[str, Any]:
        if "lease" in params:
            raise KillickError(HUB_BAD_PARAMS, "a lease needs a hub; use Client() without daemon=False")
        if params.get("wait", "settled") not in WAITS:
            raise KillickError(HUB_BAD_PARAMS, "wait must be 'settled' or 'required'")
        tag = params.get("tag")
        config = config_text(params)
        options = SessionOptions(size=sizeof(SessionOptions), config=config, config_file=config_file(params),
                                 label=tag.encode() if tag else None, wait=WAITS[params.get("wait", "settled")],
                                 features=feature_bits(params.get("features", [])), user_env=env_list(params),
                                 user_cwd=os.fsencode(params["cwd"]) if "cwd" in params else None)
        ctx, error = self._call(self._lib.killick_session_free), Error()
        if self._lib.killick_session_open_start(self._runtime, byref(options), None, ctx, byref(error)) != 0:
            raise self._refused(ctx, error)
        opened, code, text = await self._outcome(ctx, "session.create", timeout)
        if not opened:
            raise self._error(code, text)
        self._last_session += 1
        session = Open(f"s{self._last_session}", opened)
        self._sessions[session.name] = session
        return {"session": session.name, "tag": tag, "servers": self._servers(session)}

    async def _refresh(self, params: Dict[str, Any], timeout: float) -> Dict[str, Any]:
        session = self._find(params)
        before = self._status(session)
        ctx, error = self._call(lambda outcome: None), Error()
        if self._lib.killick_session_refresh_start(session.handle, config_text(params), config_file(params), None, ctx,
                                                   byref(error)) != 0:
            raise self._refused(ctx, error)
        report, code, text = await self._outcome(ctx, "session.refresh", timeout)
        if report is None:
            raise self._error(code, text)
        return {**ending_of(session, report), "servers": self._servers(session),
                "unchanged": unchanged_of(before, self._status(session), report)}

    async def _destroy(self, params: Dict[str, Any], timeout: float) -> Dict[str, Any]:
        session = self._find(params)
        del self._sessions[session.name]
        before = self._status(session)
        ctx = self._call(lambda outcome: None)
        self._lib.killick_session_close_start(session.handle, None, ctx)
        try:
            report, code, text = await self._outcome(ctx, "session.destroy", timeout)
        finally:
            self._lib.killick_session_free(session.handle)
        if report is None:
            raise self._error(code, text)
        return {**ending_of(session, report), "kept": self._kept(before)}

    def _kept(self, before: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
        """The shared servers of a closed session that other sessions use."""
        used = [server["pid"] for other in self._sessions.values() for server in self._status(other)]
        return [{"server": server["server"], "sessions": used.count(server["pid"])}
                for server in before if server["shared"] and server["pid"] and server["pid"] in used]

    def _find(self, params: Dict[str, Any]) -> Open:
        session = self._sessions.get(params["session"])
        if session is None:
            raise KillickError(HUB_NOT_FOUND, f"no session '{params['session']}'")
        return session

    def _status(self, session: Open) -> List[Dict[str, Any]]:
        status = c_void_p()
        if self._lib.killick_status(session.handle, byref(status)) != 0:
            return []
        servers = take_json(self._lib.killick_status_json(status))
        self._lib.killick_status_free(status)
        return list(servers)

    def _servers(self, session: Open) -> List[Dict[str, Any]]:
        return [{"name": one["server"], "state": one["state"],
                 **{key: one[key] for key in ("error", "tools") if one.get(key) is not None}}
                for one in self._status(session)]

    # --- requests to servers ---

    async def _tools(self, params: Dict[str, Any], timeout: float) -> Any:
        session, server = self._find(params), params.get("server")
        servers = self._status(session) if server is None else []
        if len(servers) == 1:
            server = servers[0]["server"]  # plain names, as with a hub
        return await self._do(session, Request(op=OP_TOOLS, server=text_of(server)), "tool.list", timeout)

    async def _tool(self, params: Dict[str, Any], timeout: float) -> Any:
        request = Request(op=OP_CALL, server=text_of(params.get("server")), name=text_of(params["tool"]),
                          args=json_of(params.get("arguments")), timeout_ms=params.get("timeoutMs", 0))
        return await self._do(self._find(params), request, "tool.call", timeout)

    async def _mcp(self, params: Dict[str, Any], timeout: float) -> Any:
        request = Request(op=OP_RAW, server=text_of(params.get("server")), name=text_of(params["method"]),
                          args=json_of(params.get("params")), timeout_ms=params.get("timeoutMs", 0))
        return await self._do(self._find(params), request, params["method"], timeout)

    async def _do(self, session: Open, request: Request, what: str, timeout: float) -> Any:
        ctx, call = self._call(lambda outcome: None), c_void_p()
        request.size, request.ctx = sizeof(Request), ctx
        code = self._lib.killick_start(session.handle, byref(request), byref(call))
        if code != 0:
            del self._calls[ctx]
            raise self._error(code, f"{what}: {self._lib.killick_code_name(code).decode()}")
        over = False
        try:
            code, text, answer = await self._outcome(ctx, what, timeout)
            over = True
        finally:
            if not over:
                self._lib.killick_cancel(call)
            self._lib.killick_call_free(call)
        if code != 0:
            raise self._error(code, text, answer)
        return answer


METHODS: Dict[str, Callable[[LibraryLink, Dict[str, Any], float], Any]] = {
    "session.create": LibraryLink._create,
    "session.refresh": LibraryLink._refresh,
    "session.destroy": LibraryLink._destroy,
    "tool.list": LibraryLink._tools,
    "tool.call": LibraryLink._tool,
    "mcp.request": LibraryLink._mcp,
}


def pull(lib: ctypes.CDLL, runtime: c_void_p, loop: asyncio.AbstractEventLoop, calls: Dict[int, Call]) -> None:
    """The thread: fetch items until the runtime is closed."""
    item = POINTER(Item)()
    while lib.killick_next(runtime, -1, byref(item)) == 1:
        one = item.contents
        if one.kind in (ITEM_RESULT, ITEM_OPENED, ITEM_ENDED):
            outcome = outcome_of(lib, one)
            try:
                loop.call_soon_threadsafe(deliver, calls, one.ctx, outcome)
            except RuntimeError:
                pass  # the event loop is closed: nobody waits
        lib.killick_item_free(item)


def deliver(calls: Dict[int, Call], ctx: int, outcome: Any) -> None:
    call = calls.pop(ctx, None)
    if call is None:
        return
    if not call.future.done():
        call.future.set_result(outcome)
    elif outcome[0]:
        call.late(outcome[0])


def outcome_of(lib: ctypes.CDLL, item: Item) -> Any:
    if item.kind == ITEM_RESULT:
        return result_of(lib, item.result)
    error = item.error.contents if item.error else Error()
    text = error.text.decode(errors="replace")
    if item.kind == ITEM_OPENED:
        return item.session, error.code, text
    report = take_json(lib.killick_report_json(item.report)) if item.report else None
    lib.killick_report_free(item.report)
    return report, error.code, text


def result_of(lib: ctypes.CDLL, result: int) -> Any:
    code, length = lib.killick_result_code(result), c_size_t()
    text = lib.killick_result_error(result).decode(errors="replace")
    at = lib.killick_result_json(result, byref(length))
    answer = json.loads(ctypes.string_at(at, length.value)) if length.value else None
    lib.killick_result_free(result)
    return code, text, answer


def take_json(text: int) -> Any:
    value = json.loads(ctypes.string_at(text))
    C.free(text)
    return value


def free_runtime(lib: ctypes.CDLL, runtime: c_void_p, thread: threading.Thread) -> None:
    """killick_next returns when the runtime is closed, and must have returned before the runtime is freed."""
    lib.killick_close(runtime, None)
    thread.join()
    lib.killick_free(runtime)


def ending_of(session: Open, report: Mapping[str, Any]) -> Dict[str, Any]:
    return {"session": session.name, "ended": report["endings"], "survivors": report["survivors"],
            "proved": report["proved"], "ms": report["ms"]}


def unchanged_of(before: List[Dict[str, Any]], after: List[Dict[str, Any]], report: Mapping[str, Any]) -> List[str]:
    """The names of the servers whose process a refresh left running."""
    ended = {ending["server"] for ending in report["endings"]}
    ready = {(one["server"], one["pid"]) for one in before if one["state"] == "ready"}
    return [one["server"] for one in after
            if one["state"] == "ready" and (one["server"], one["pid"]) in ready and one["server"] not in ended]


def config_text(params: Dict[str, Any]) -> Optional[bytes]:
    if "mcpServers" not in params:
        return None
    return json.dumps({key: params[key] for key in ("mcpServers", "environments") if key in params}).encode()


def config_file(params: Dict[str, Any]) -> Optional[bytes]:
    return os.fsencode(params["config"]) if "config" in params else None


def env_list(params: Dict[str, Any]) -> Any:
    if "environ" not in params:
        return None
    entries = [os.fsencode(f"{name}={value}") for name, value in params["environ"].items()]
    return (c_char_p * (len(entries) + 1))(*entries)


def feature_bits(features: List[str]) -> int:
    unknown = [name for name in features if name not in FEATURES]
    if unknown:
        raise KillickError(HUB_BAD_PARAMS, f"unknown feature '{unknown[0]}'; there are {', '.join(FEATURES)}")
    return sum(FEATURES[name] for name in set(features))


def text_of(text: Optional[str]) -> Optional[bytes]:
    return None if text is None else text.encode()


def json_of(value: Optional[Mapping[str, Any]]) -> Optional[bytes]:
    return None if value is None else json.dumps(value).encode()
