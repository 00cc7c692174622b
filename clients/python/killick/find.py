"""find.py - where the hub of this user listens, and how to start one."""
import asyncio
import os
import shutil
import socket
import stat
import struct
import subprocess
import sys
import time
from typing import List, Optional

from .error import CLOSED, SYSTEM, TIMEOUT, KillickError
from .wire import HubLink

RETRY_S = 0.02   # between two attempts to connect to a hub that starts
PATIENCE_S = 1.0


def runtime_dirs() -> List[str]:
    """The directories in which a hub may have its socket: those of killick's records."""
    given = os.environ.get("KILLICK_RUNTIME_DIR")
    if given:
        return [given]
    uid = os.geteuid()
    return ["/run/killick" if uid == 0 else f"/run/user/{uid}/killick", f"/tmp/killick-{uid}"]


def is_own_dir(path: str) -> bool:
    """Does only this user write to the directory? Otherwise its socket may belong to another user."""
    try:
        st = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(st.st_mode) and st.st_uid == os.geteuid() and not st.st_mode & 0o022


def program_path(given: Optional[str]) -> str:
    """The program `killick`."""
    name = given or os.environ.get("KILLICK") or "killick"
    found = shutil.which(name)
    if found is None:
        raise KillickError(SYSTEM, f"program '{name}' not found; install killick, or set KILLICK to its full path")
    return found


def peer_is_trusted(sock: socket.socket) -> bool:
    """The environment of this process is sent only to its own user, or to root."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    size = struct.calcsize("3i")
    _, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return uid in (0, os.geteuid())


async def connect_to(path: str) -> Optional[HubLink]:
    """A connection to the hub that listens there; None if none does."""
    try:
        transport, link = await asyncio.get_running_loop().create_unix_connection(HubLink, path)
    except OSError as e:
        if isinstance(e, (FileNotFoundError, ConnectionRefusedError, ConnectionResetError, BlockingIOError)):
            return None
        raise KillickError(SYSTEM, f"cannot connect to the hub at '{path}': {e.strerror or e}") from None
    if not peer_is_trusted(transport.get_extra_info("socket")):
        transport.abort()
        raise KillickError(SYSTEM, f"the program that listens at '{path}' belongs to another user")
    return link


async def connect_once(given: Optional[str]) -> Optional[HubLink]:
    if given:
        return await connect_to(given)
    for directory in runtime_dirs():
        if is_own_dir(directory):
            link = await connect_to(os.path.join(directory, "hub.sock"))
            if link is not None:
                return link
    return None


class Starter:
    """Starts a hub that does not end with this process. When another hub runs, the new hub exits."""

    started: "List[subprocess.Popen[bytes]]" = []  # kept until they end, so that no zombie is left

    def __init__(self, program: Optional[str]):
        self._program = program_path(program)
        self._start()

    def _start(self) -> None:
        Starter.started = [hub for hub in Starter.started if hub.poll() is None]
        try:
            self._hub = subprocess.Popen([self._program, "hub", "--detached"], stdin=subprocess.DEVNULL,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except OSError as e:
            raise KillickError(SYSTEM, f"cannot start a hub: '{self._program}': {e.strerror}") from None
        Starter.started.append(self._hub)
        self._exited: Optional[float] = None

    def check(self) -> None:
        """Called after each failed attempt to connect. A hub exits when another hub is there, which may not listen
        yet, or may be about to leave: so an exit is no failure for PATIENCE_S."""
        now = time.monotonic()
        status = self._hub.poll()
        if status is None:
            return
        if self._exited is None:
            self._exited = now
        if now < self._exited + PATIENCE_S:
            return
        if status != 0:
            raise KillickError(SYSTEM, f"cannot start a hub: '{self._program} hub' exited with status {status}; "
                               "run it to see the reason")
        self._start()


class PrivateHub(asyncio.SubprocessProtocol):
    """A hub of this process alone, on its stdin and stdout. It ends with its stdin, so also with this process."""

    def __init__(self) -> None:
        self.link = HubLink()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        stdin = transport.get_pipe_transport(0)
        assert stdin is not None
        self.link.connection_made(stdin)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.link.data_received(data)  # of stdout: the hub has the stderr of this process

    def pause_writing(self) -> None:
        self.link.pause_writing()

    def resume_writing(self) -> None:
        self.link.resume_writing()

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self.link.connection_lost(exc)  # the hub has exited, and its pipes are closed


async def start_private(program: Optional[str], timeout: float) -> HubLink:
    """A connection to a private hub, which is started."""
    path = program_path(program)
    try:
        # its own session: a Ctrl-C in the terminal is for this process, which then ends its sessions
        transport, hub = await asyncio.get_running_loop().subprocess_exec(
            PrivateHub, path, "hub", "--quiet", "--listen", "stdio", stderr=None, start_new_session=True)
    except OSError as e:
        raise KillickError(SYSTEM, f"cannot start a hub: '{path}': {e.strerror}") from None
    try:
        await hub.link.request("hub.status", {}, timeout)
    except BaseException as e:
        status = transport.get_returncode()
        transport.close()  # kills the hub if it still runs
        if isinstance(e, KillickError) and e.code == CLOSED:
            raise KillickError(SYSTEM, f"cannot start a hub: '{path} hub --listen stdio' exited with status {status}") from None
        raise
    return hub.link


async def connect(path: Optional[str], program: Optional[str], timeout: float) -> HubLink:
    """A connection to the hub of this user, which is started if no hub runs. `path`: only to the hub at this path."""
    if sys.platform == "win32":
        raise KillickError(SYSTEM, "there is no shared hub on Windows yet; use Client(daemon=False)")
    end = time.monotonic() + timeout
    starter = None
    while True:
        link = await connect_once(path)
        if link is not None:
            return link
        if path:
            raise KillickError(SYSTEM, f"no hub listens at '{path}'")
        if time.monotonic() > end:
            raise KillickError(TIMEOUT, f"no hub answered within {timeout:g} s; run 'killick hub' to see the reason")
        if starter is None:
            starter = Starter(program)
        starter.check()
        await asyncio.sleep(RETRY_S)
