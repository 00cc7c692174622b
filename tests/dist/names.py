#!/usr/bin/env python3
"""tests/dist/names.py - a name server on 127.0.0.1:53 with the names of the tests. Prints `ready` when it answers.

build1, alias, big, lossy and six below test.example. `big` is cut over UDP and whole over TCP; the first question of each type
for `lossy` is not answered; `liar` is answered with another id first. Each question is printed: PROTOCOL NAME TYPE.
"""
import socket
import struct
import threading

A, CNAME, AAAA = 1, 5, 28
FOUR = {'build1': '127.0.0.2', 'lossy': '127.0.0.2', 'big': '127.0.0.2', 'wrong': '127.0.0.2', 'liar': '127.0.0.2'}
SIX = {'six': '::1'}
ZONE = 'test.example'
lost = set()


def name_of(question):
    labels, at = [], 12
    while question[at]:
        labels.append(question[at + 1:at + 1 + question[at]].decode())
        at += question[at] + 1
    return '.'.join(labels).lower(), struct.unpack('>H', question[at + 1:at + 3])[0], at + 5


def encoded(name):
    return b''.join(bytes([len(label)]) + label.encode() for label in name.split('.')) + b'\0'


def record(owner, kind, data):
    return owner + struct.pack('>HHIH', kind, 1, 60, len(data)) + data


def records(host, kind):
    """Of a host in the zone, or None when there is no such host."""
    if host == 'alias':
        target = encoded(f'build1.{ZONE}')
        rest = [record(target, A, socket.inet_aton(FOUR['build1']))] if kind == A else []
        return [record(b'\xc0\x0c', CNAME, target), *rest]
    if host not in FOUR and host not in SIX:
        return None
    if kind == A and host in FOUR:
        count = 60 if host == 'big' else 1
        return [record(b'\xc0\x0c', A, socket.inet_aton(FOUR[host]))] * count
    if kind == AAAA and host in SIX:
        return [record(b'\xc0\x0c', AAAA, socket.inet_pton(socket.AF_INET6, SIX[host]))]
    return []


def answer(question, protocol):
    name, kind, end = name_of(question)
    print(protocol, name, {A: 'A', AAAA: 'AAAA'}.get(kind, kind), flush=True)
    host = name[:-len(ZONE) - 1] if name.endswith('.' + ZONE) else None
    found = records(host, kind) if host else None
    flags = 0x8580 if found is not None else 0x8583
    body = b''.join(found or [])
    if protocol == 'udp' and len(body) > 400:
        flags, found, body = flags | 0x0200, [], b''
    if protocol == 'udp' and host == 'lossy' and kind not in lost:
        lost.add(kind)
        return None
    return question[:2] + struct.pack('>HHHHH', flags, 1, len(found or []), 0, 0) + question[12:end] + body


def serve_udp(s):
    while True:
        question, peer = s.recvfrom(4096)
        reply = answer(question, 'udp')
        if reply and b'\x04liar' in question:
            s.sendto(bytes([reply[0] ^ 1]) + reply[1:], peer)
        if reply:
            s.sendto(reply, peer)


def serve_tcp(s):
    while True:
        c, _ = s.accept()
        with c, c.makefile('rb') as f:
            reply = answer(f.read(struct.unpack('>H', f.read(2))[0]), 'tcp')
            c.sendall(struct.pack('>H', len(reply)) + reply)


udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(('127.0.0.1', 53))
tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
tcp.bind(('127.0.0.1', 53))
tcp.listen()
threading.Thread(target=serve_tcp, args=(tcp,), daemon=True).start()
print('ready', flush=True)
serve_udp(udp)
