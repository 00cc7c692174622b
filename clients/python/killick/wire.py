"""wire.py - the connection to a hub: JSON-RPC 2.0, one message per line (killick-hub(7))."""
import asyncio
import inspect
import json
from typing import Any, Awaitable, Callable, Dict, List, Mapping, NamedTuple, Optional, Set, Tuple, Union

from .error import CLOSED, HUB_NO_METHOD, PROTOCOL, TIMEOUT, KillickError, answer_error

ANSWER_S = 60.0
LINE_MAX = 128 << 20  # bytes; the hub's own messages are shorter


INTERNAL_ERROR = -32603

# Answers a question of a server: given the name of the server and the params, returns the result of MCP.
Answerer = Callable[[str, Dict[str, Any]], Union[Mapping[str, Any], Awaitable[Mapping[str, Any]]]]
# Gets a notification of a server: the name of the server and the params. May be a coroutine function.
Listener = Callable[[str, Dict[str, Any]], object]
Handlers = Mapping[str, Listener]  # by the method of the question or the notification


class Waiting(NamedTuple):
    """A request without an answer yet."""
    method: str
    future: "asyncio.Future[Any]"
    handlers: Handlers  # of session.create


class HubLink(asyncio.Protocol):
    """One connection. Many requests may wait at the same time; answers come in any order."""

    def __init__(self) -> None:
        self.on_event: Optional[Callable[[Dict[str, Any]], None]] = None
        self.on_closed: Optional[Callable[[], None]] = None
        self._loop = asyncio.get_running_loop()
        self._transport: Optional[asyncio.WriteTransport] = None
        self._parts: List[bytes] = []  # of a line that is not complete
        self._size = 0                 # bytes of the parts
        self._waiting: Dict[int, Waiting] = {}
        self._late: Dict[int, str] = {}  # session.create whose caller has left
        self._handlers: Dict[str, Handlers] = {}  # by the session
        self._questions: "Dict[Tuple[str, int], asyncio.Task[None]]" = {}  # that are being answered
        self._progress: Dict[str, Listener] = {}  # by the progress token
        self._listening: "Set[asyncio.Task[Any]]" = set()  # listeners that are running
        self._last_id = 0
        self._last_token = 0
        self._error: Optional[KillickError] = None  # why the connection is over
        self._gone = self._loop.create_future()
        self._may_write = asyncio.Event()
        self._may_write.set()

    @property
    def is_open(self) -> bool:
        return self._error is None

    async def request(self, method: str, params: Dict[str, Any], timeout: float,
                      handlers: Optional[Handlers] = None) -> Any:
        """The result. The answer to a request whose caller was cancelled, or timed out, is ignored."""
        await self._wait_for_room(method, timeout)
        if self._error is not None:
            raise self._error
        self._last_id += 1
        number = self._last_id
        waiting = self._waiting[number] = Waiting(method, self._loop.create_future(), handlers or {})
        timer = self._loop.call_later(timeout, self._expire, number, timeout)
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            return await waiting.future
        finally:
            timer.cancel()
            if self._waiting.pop(number, None) is not None:
                self._abandon(number, method)

    async def _wait_for_room(self, method: str, timeout: float) -> None:
        try:
            await asyncio.wait_for(self._may_write.wait(), timeout)
        except asyncio.TimeoutError:
            raise KillickError(TIMEOUT, f"{method} timed out after {timeout:g} s: the hub does not read") from None

    def abandon(self) -> None:
        """The client was forgotten: close the connection, so that the hub ends the sessions."""
        try:
            self._loop.call_soon_threadsafe(self._refuse, "the client was freed without close()")
        except RuntimeError:
            pass  # the event loop is closed, and the connection with it

    async def close(self, timeout: float) -> None:
        self._fail(KillickError(CLOSED, "the client was closed"))
        if self._transport is not None:
            self._transport.close()
            try:
                await asyncio.wait_for(asyncio.shield(self._gone), timeout)
            except asyncio.TimeoutError:
                self._transport.abort()

    # --- of asyncio.Protocol ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def connection_lost(self, exc: Optional[Exception]) -> None:
        reason = f" ({exc})" if exc else ""
        self._fail(KillickError(CLOSED, f"the hub closed the connection{reason}; its sessions are over: create new ones"))
        if not self._gone.done():
            self._gone.set_result(None)

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def data_received(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._parts.append(line)
            whole = b"".join(self._parts)
            self._parts, self._size = [], 0
            if whole.strip():
                self._take_line(whole)
        self._parts.append(rest)
        self._size += len(rest)
        if self._size > LINE_MAX:
            self._refuse(f"a line of the hub has more than {LINE_MAX} bytes")

    # --- messages ---

    def _send(self, message: Dict[str, Any]) -> None:
        if self._transport is not None and self._error is None:
            self._transport.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def _take_line(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError as e:  # also of bytes that are not UTF-8
            self._refuse(f"the hub sent a line that is not JSON: {e}")
            return
        if not isinstance(message, dict):
            self._refuse("the hub sent JSON that is not a message")
        elif "method" in message:
            self._take_notification(message["method"], message.get("params") or {})
        elif "result" in message or isinstance(message.get("error"), dict):
            self._take_answer(message)
        else:
            self._refuse("the hub sent a message that is neither an answer nor a notification")

    def _take_answer(self, message: Dict[str, Any]) -> None:
        number = message.get("id")
        waiting = self._waiting.pop(number, None) if isinstance(number, int) else None
        if waiting is None:
            self._take_late(self._late.pop(number, "") if isinstance(number, int) else "", message)
        elif waiting.future.done():
            self._take_late(waiting.method, message)
        elif "result" in message:
            if waiting.handlers and isinstance(message["result"], dict):  # the next message may be a question
                self._handlers[str(message["result"].get("session"))] = waiting.handlers
            waiting.future.set_result(message["result"])
        else:
            waiting.future.set_exception(answer_error(message["error"]))

    def _take_notification(self, method: str, params: Dict[str, Any]) -> None:
        if method == "event" and self.on_event is not None:
            self.on_event(params)
        elif method == "session.question":
            key = (str(params.get("session")), int(params.get("question", 0)))
            task = self._questions[key] = self._loop.create_task(self._answer(key, params))
            task.add_done_callback(lambda _: self._questions.pop(key, None))
        elif method == "session.withdrawn":
            answering = self._questions.get((str(params.get("session")), int(params.get("question", 0))))
            if answering is not None:
                answering.cancel()
        elif method == "session.notification":
            self._tell(str(params.get("session")), str(params.get("method")), params)

    def _tell(self, session: str, method: str, note: Dict[str, Any]) -> None:
        """Start the listener before the caller sees the answer that comes next. Its exception is that of a task."""
        params: Dict[str, Any] = note.get("params") or {}
        listener = self._handlers.get(session, {}).get(method)
        if method == "notifications/progress":
            listener = self._progress.get(str(params.get("progressToken")))
        if listener is not None:
            task = self._loop.create_task(_handle(listener, str(note.get("server", "")), params))
            self._listening.add(task)
            task.add_done_callback(self._listening.discard)

    def add_progress(self, listener: Listener) -> str:
        """The token of a request whose progress the listener gets, until forget_progress."""
        self._last_token += 1
        token = f"killick.{self._last_token}"  # the program may have tokens of its own
        self._progress[token] = listener
        return token

    def forget_progress(self, token: str) -> None:
        self._progress.pop(token, None)

    async def _answer(self, key: Tuple[str, int], question: Dict[str, Any]) -> None:
        """Ask the program. Its exception becomes an error for the server: nobody but the program decides."""
        answerer = self._handlers.get(key[0], {}).get(str(question.get("method")))
        try:
            if answerer is None:
                raise KillickError(HUB_NO_METHOD, f"the program does not answer {question.get('method')}")
            result = await _handle(answerer, str(question.get("server", "")), question.get("params") or {})
            reply: Dict[str, Any] = {"result": dict(result)}
            json.dumps(reply)
        except KillickError as e:
            reply = {"error": {"code": e.code, "message": e.message}}
        except Exception as e:
            reply = {"error": {"code": INTERNAL_ERROR, "message": f"the program failed: {type(e).__name__}: {e}"}}
        try:
            await self.request("session.answer", {"session": key[0], "question": key[1], **reply}, ANSWER_S)
        except KillickError:
            pass  # the question, or the connection, is over

    def forget_session(self, session: str) -> None:
        """The session ends: nobody gets its questions and notifications any more."""
        self._handlers.pop(session, None)

    def _take_late(self, method: str, message: Dict[str, Any]) -> None:
        """The caller of this session.create timed out and has no session id: end the session."""
        result = message.get("result")
        if method == "session.create" and isinstance(result, dict) and "session" in result:
            self._last_id += 1
            self._send({"jsonrpc": "2.0", "id": self._last_id, "method": "session.destroy",
                        "params": {"session": result["session"]}})

    def _abandon(self, number: int, method: str) -> None:
        if self._error is None:
            if method == "session.create":
                self._late[number] = method
            self._send({"jsonrpc": "2.0", "method": "cancel", "params": {"id": number}})

    def _expire(self, number: int, timeout: float) -> None:
        waiting = self._waiting.get(number)
        if waiting is not None and not waiting.future.done():
            waiting.future.set_exception(KillickError(TIMEOUT, f"{waiting.method} timed out after {timeout:g} s"))

    def _refuse(self, reason: str) -> None:
        self._fail(KillickError(PROTOCOL, reason))
        if self._transport is not None:
            self._transport.abort()

    def _fail(self, error: KillickError) -> None:
        """The connection is over: every request that waits fails."""
        if self._error is not None:
            return
        self._error = error
        self._may_write.set()
        waiting, self._waiting = self._waiting, {}
        for each in waiting.values():
            if not each.future.done():
                each.future.set_exception(KillickError(error.code, error.message))
        for task in list(self._questions.values()):
            task.cancel()
        if self.on_closed is not None:
            self.on_closed()


async def _handle(function: Listener, server: str, params: Dict[str, Any]) -> Any:
    result = function(server, params)
    return await result if inspect.isawaitable(result) else result
