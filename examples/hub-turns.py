#!/usr/bin/env python3
"""hub-turns.py - one client, one session per turn of an agent, the same three servers in each turn.

	./hub-turns.py [--no-daemon] [--turns N] [COMMAND...]

COMMAND is an MCP server with the tool `echo`; the default is `killick zoo plain`. Each turn creates a session, calls a tool
of each server and disconnects. The program counts the server processes in /proc after each step: those that are ready when
the session is created (the hub knows the tools of a server that has run before, and starts it with its first call), three
after the calls, none after the end. --no-daemon uses a private hub, a child of this program. The package is
clients/python.
"""
import argparse
import asyncio
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'clients', 'python'))
import killick  # noqa: E402

NAMES = ['files', 'search', 'memory']
MARK = f'HUB_TURNS={os.getpid()}'


def live():
    """The number of processes of servers. They inherit the mark, and KILLICK_TREE, which their keepers do not have."""
    count = 0
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/environ', 'rb') as environ:
                variables = environ.read().split(b'\0')
            count += MARK.encode() in variables and any(v.startswith(b'KILLICK_TREE=') for v in variables)
        except OSError:
            pass # another user's process, or a process that has ended
    return count


async def turn(client, servers):
    """One turn: the counts after each of its steps."""
    counts = []
    session = await client.create_session(mcp_servers=servers, tag='turn')
    counts.append(live())
    assert counts[0] == sum(server['state'] == 'ready' for server in session.servers), session.servers
    tools = [tool['name'] for tool in await session.list_tools()]
    for name in NAMES:
        text = f'hello {name}'
        if f'{name}__echo' not in tools:
            sys.exit(f"hub-turns.py: no tool '{name}__echo'; the servers of the session: {session.servers}")
        result = await session.call_tool(f'{name}__echo', {'text': text})
        assert result['content'][0]['text'] == text, result
    counts.append(live())
    report = await session.disconnect()
    counts.append(live())
    assert report.proved and len(report.ended) == len(NAMES), report
    return counts


async def main():
    parser = argparse.ArgumentParser(description='one session per turn of an agent')
    parser.add_argument('--no-daemon', action='store_true')
    parser.add_argument('--turns', type=int, default=24)
    parser.add_argument('command', nargs=argparse.REMAINDER)
    args = parser.parse_args()
    command = args.command or [os.environ.get('KILLICK', 'killick'), 'zoo', 'plain']
    servers = {name: {'command': command[0], 'args': command[1:], 'env': dict([MARK.split('='), ('SERVER', name)])}
               for name in NAMES}
    wrong = 0
    async with killick.Client(daemon=not args.no_daemon) as client:
        for number in range(1, args.turns + 1):
            created, called, left = await turn(client, servers)
            wrong += created > len(NAMES) or called != len(NAMES) or left != 0
            print(f'turn {number}: {created} servers, {called} after the calls, {left} after disconnect')
    print(f'{args.turns} turns, {wrong} with a wrong number of processes')
    return 1 if wrong else 0


sys.exit(asyncio.run(main()))
