"""loaders.py - tell the loaders of Wine that run no Windows program from the survivors of a test.

Wine starts a program by a process of Linux, the loader, which has the command line of the program, connects to wineserver, and maps the
program and its DLLs after the first answer. On a busy machine a program can be ended before that: wineserver forgets the process and
never answers, and the loader waits for ever. No instruction of the program ran in it, and Windows has no such state. The loader is
Wine's and not a survivor.

A loader that merely starts slowly looks the same. So a process is a survivor until it was seen for STUCK_S seconds in this state, without
any use of the CPU; and each loader that was named is looked at again: if it runs a program later, it is a survivor, whatever its test.
"""
import os
import time

STUCK_S = 5
RECVMSG = b'47 ' # the number on x86_64


def read(path):
    try:
        with open(path, 'rb') as f:
            return f.read()
    except OSError:
        return b''


class Loaders:
    def __init__(self, proc='/proc'):
        self.proc = proc
        self.first = {} # of each loader that waits: when it was first seen with its use of the CPU
        self.named = {} # pid: the start time of a loader that was found to be Wine's

    def _facts(self, pid):
        """The start time, the use of the CPU, and the mapped files; None: the process has ended."""
        fields = read(os.path.join(self.proc, str(pid), 'stat')).rpartition(b')')[2].split()
        if len(fields) < 20 or fields[0] in (b'Z', b'X'):
            return None
        return fields[19], fields[11:13], read(os.path.join(self.proc, str(pid), 'maps')).lower()

    def has(self, pid, now=None):
        """Is the process a loader that waited for its first answer in every look of the last STUCK_S seconds?"""
        facts = self._facts(pid)
        waits = facts and read(os.path.join(self.proc, str(pid), 'syscall')).startswith(RECVMSG)
        if not waits or b'/ntdll.so' not in facts[2] or b'/ntdll.dll' in facts[2]:
            self.first.pop(pid, None)
            return False
        now = time.monotonic() if now is None else now
        if self.first.setdefault(pid, (facts[:2], now))[0] != facts[:2]:
            self.first[pid] = facts[:2], now
        if now - self.first[pid][1] < STUCK_S:
            return False
        self.named[pid] = facts[0]
        return True

    def add_survivors(self, found):
        """The list of (pid, name) with the loaders that were named and run a program now."""
        ran = [pid for pid, start in self.named.items()
               if (facts := self._facts(pid)) and facts[0] == start and b'/ntdll.dll' in facts[2]]
        pids = {pid for pid, _ in found}
        return found + [(pid, 'a loader that ran after all') for pid in ran if pid not in pids]
