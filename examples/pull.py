#!/usr/bin/env python3
"""pull.py - libkillick from a language that does not give callbacks to C: killick_next() instead.

	./pull.py echo '{"message": "hi"}' npx -y @modelcontextprotocol/server-everything

Calls one tool, prints what the server writes to stderr, the answer, and the report of the end. Structs begin with their
size, so each is declared here only up to the last member that is used.
"""
import ctypes
import json
import os
import sys
from ctypes import POINTER, byref, c_bool, c_char, c_char_p, c_double, c_int, c_long, c_size_t, c_uint, c_void_p, sizeof

DISPATCH_PULL = 2
OP_CALL = 4
EVENT_STDERR = 6
ITEM_EVENT, ITEM_ASK, ITEM_PROGRESS, ITEM_RESULT, ITEM_OPENED, ITEM_ENDED = range(6)


class Error(ctypes.Structure):
    _fields_ = [('code', c_int), ('text', c_char * 512)]


class Options(ctypes.Structure):
    _fields_ = [('size', c_size_t), ('keeper', c_char_p), ('dispatch', c_int)]


class Handlers(ctypes.Structure):
    _fields_ = [('size', c_size_t), ('ctx', c_void_p), ('on_event', c_void_p), ('on_ask', c_void_p), ('answers', c_uint)]


class SessionOptions(ctypes.Structure):
    _fields_ = [('size', c_size_t), ('config', c_char_p), ('config_file', c_char_p), ('command', POINTER(c_char_p)),
                ('only', c_char_p), ('label', c_char_p), ('wait', c_int), ('grace_ms', c_uint), ('drain_ms', c_uint),
                ('handlers', POINTER(Handlers))]


class Request(ctypes.Structure):
    _fields_ = [('size', c_size_t), ('op', c_int), ('server', c_char_p), ('name', c_char_p), ('args', c_char_p),
                ('timeout_ms', c_long), ('progress_extends', c_bool), ('ctx', c_void_p)]


class Event(ctypes.Structure):
    _fields_ = [('kind', c_int), ('server', c_char_p), ('state', c_int), ('text', c_char_p), ('text_len', c_size_t),
                ('json', c_char_p), ('json_len', c_size_t)]


class Progress(ctypes.Structure):
    _fields_ = [('progress', c_double), ('total', c_double), ('message', c_char_p)]


class Item(ctypes.Structure):
    _fields_ = [('kind', c_int), ('ctx', c_void_p), ('event', POINTER(Event)), ('ask', c_void_p),
                ('progress', POINTER(Progress)), ('result', c_void_p), ('session', c_void_p), ('report', c_void_p),
                ('error', POINTER(Error))]


def load():
    """The library, with the types of the functions that are used; handles are void pointers."""
    lib = ctypes.CDLL(os.environ.get('LIBKILLICK', 'libkillick.so.0'))
    lib.killick_open.argtypes = [POINTER(Options), POINTER(c_void_p), POINTER(Error)]
    lib.killick_session_open_start.argtypes = [c_void_p, POINTER(SessionOptions), c_void_p, c_void_p, c_void_p,
                                               POINTER(Error)]
    lib.killick_session_close_start.argtypes = [c_void_p, c_void_p, c_void_p, POINTER(Error)]
    lib.killick_session_free.argtypes = [c_void_p]
    lib.killick_start.argtypes = [c_void_p, POINTER(Request), POINTER(c_void_p), POINTER(Error)]
    lib.killick_next.argtypes = [c_void_p, c_long, POINTER(POINTER(Item)), POINTER(Error)]
    lib.killick_item_free.argtypes = [POINTER(Item)]
    lib.killick_result_code.argtypes = lib.killick_result_is_error.argtypes = [c_void_p]
    lib.killick_result_is_error.restype = c_bool
    for text in (lib.killick_result_text, lib.killick_result_error):
        text.argtypes, text.restype = [c_void_p], c_char_p
    lib.killick_result_free.argtypes = lib.killick_report_free.argtypes = lib.killick_free.argtypes = [c_void_p]
    # a pointer and not a c_char_p: that would be a copy, and the text could not be freed
    lib.killick_report_json.argtypes, lib.killick_report_json.restype = [c_void_p], c_void_p
    lib.killick_text_free.argtypes = [c_void_p]
    return lib


def items(lib, runtime):
    """What happens, one item after the other; each is freed when the next one is wanted."""
    item = POINTER(Item)()
    while lib.killick_next(runtime, -1, byref(item), None) == 1:
        yield item.contents
        lib.killick_item_free(item)


def report_of(lib, report):
    text = lib.killick_report_json(report)
    value = json.loads(ctypes.string_at(text))
    lib.killick_text_free(text)
    lib.killick_report_free(report)
    return value


def call(lib, runtime, tool, args):
    """Take the items until the session is closed. The exit status."""
    status, session = 1, None
    for item in items(lib, runtime):
        if item.kind == ITEM_EVENT and item.event.contents.kind == EVENT_STDERR:
            event = item.event.contents
            sys.stderr.write(ctypes.string_at(event.text, event.text_len).decode(errors='replace'))
        elif item.kind == ITEM_OPENED:
            session = item.session
            if not session:
                print(item.error.contents.text.decode(), file=sys.stderr)
                break
            request = Request(size=sizeof(Request), op=OP_CALL, server=b'server', name=tool, args=args)
            error = Error()
            if lib.killick_start(session, byref(request), None, byref(error)) != 0:
                print(error.text.decode(), file=sys.stderr)
                lib.killick_session_close_start(session, None, None, None)
        elif item.kind == ITEM_RESULT:
            if lib.killick_result_code(item.result) == 0:
                print(lib.killick_result_text(item.result).decode())
                status = int(lib.killick_result_is_error(item.result))
            else:
                print(lib.killick_result_error(item.result).decode(), file=sys.stderr)
            lib.killick_result_free(item.result)
            lib.killick_session_close_start(session, None, None, None)
        elif item.kind == ITEM_ENDED:
            for ending in report_of(lib, item.report)['endings']:
                print(f"{ending['server']} ended: {ending['why']}, {ending['step']}, proved by {','.join(ending['proof'])}")
            break
    lib.killick_session_free(session)
    return status


def main():
    if len(sys.argv) < 4:
        print(f'usage: {sys.argv[0]} TOOL ARGUMENTS COMMAND...', file=sys.stderr)
        return 64
    lib, error, runtime = load(), Error(), c_void_p()
    tool, args, *command = (os.fsencode(word) for word in sys.argv[1:])
    handlers = Handlers(size=sizeof(Handlers))
    options = SessionOptions(size=sizeof(SessionOptions), command=(c_char_p * (len(command) + 1))(*command),
                             handlers=ctypes.pointer(handlers))
    status = 1
    if (lib.killick_open(byref(Options(size=sizeof(Options), dispatch=DISPATCH_PULL)), byref(runtime), byref(error)) != 0 or
            lib.killick_session_open_start(runtime, byref(options), None, None, None, byref(error)) != 0):
        print(error.text.decode(), file=sys.stderr)
    else:
        status = call(lib, runtime, tool, args)
    lib.killick_free(runtime) # returns when the server and all it started is gone
    return status


sys.exit(main())
