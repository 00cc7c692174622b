"""tap.py - tests as coroutines, in the order of their definition; results on stdout, as TAP.

Each test has a runtime directory of its own, and so a hub of its own. After a test no process may be left that has this
directory in its environment.
"""
import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

TIMEOUT_S = 60
GONE_S = 15
tests = []


class Skip(Exception):
    pass


def test(function):
    tests.append(function)
    return function


def processes(entry):
    """The ids of the processes whose environment has this entry, except this process."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/environ', 'rb') as environ:
                if entry.encode() in environ.read().split(b'\0') and int(pid) != os.getpid():
                    found.append(int(pid))
        except OSError:
            pass # another user's process, or a process that has ended
    return found


async def until(condition, what, seconds=GONE_S):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f'{what} did not happen within {seconds} s'
        await asyncio.sleep(0.01)


def end_hub():
    """Works also when no hub runs."""
    subprocess.run([os.environ['KILLICK'], 'hub', 'stop'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=GONE_S)


async def run_one(function):
    directory = tempfile.mkdtemp(prefix='killick-packages-')
    os.environ['KILLICK_RUNTIME_DIR'] = directory
    os.environ['XDG_CACHE_HOME'] = os.path.join(directory, 'cache') # no server is known yet
    try:
        await asyncio.wait_for(function(), TIMEOUT_S)
    finally:
        mark = f'KILLICK_RUNTIME_DIR={directory}'

        def is_over():
            # a hub that lost the race of a start may get the lock when the first hub has ended
            end_hub()
            return not processes(mark)

        try:
            await until(is_over, 'the end of the hub and its servers')
        finally:
            for pid in processes(mark):
                os.kill(pid, signal.SIGKILL)
            shutil.rmtree(directory)


def main():
    """Run all tests, or those whose name has one of the words that are the arguments."""
    failed = 0
    chosen = [one for one in tests if len(sys.argv) == 1 or any(word in one.__name__ for word in sys.argv[1:])]
    print(f'1..{len(chosen)}', flush=True)
    for number, function in enumerate(chosen, 1):
        name, note = function.__name__.replace('_', ' '), ''
        try:
            asyncio.run(run_one(function))
            word = 'ok'
        except Skip as e:
            word, note = 'ok', f' # SKIP {e}'
        except BaseException: # also asyncio.CancelledError
            word = 'not ok'
            failed += 1
            print(''.join(f'# {line}\n' for line in traceback.format_exc().splitlines()), end='')
        print(f'{word} {number} - {name}{note}', flush=True)
    sys.exit(1 if failed else 0)
