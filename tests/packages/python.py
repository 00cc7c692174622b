#!/usr/bin/env python3
"""python.py - the Python package against the real hub, shared and private. Environment: KILLICK, ZOO."""
import asyncio
import contextlib
import gc
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, 'clients', 'python'))
sys.dont_write_bytecode = True
import killick  # noqa: E402
from tap import Skip, main, processes, test, until  # noqa: E402

ZOO = os.environ['ZOO']
number = 0


def servers(*names, **more):
    """Servers with a mark of their own, and the mark. They live longer than a test waits."""
    global number
    number += 1
    mark = f'PACKAGES_MARK={os.getpid()}.{number}'
    config = {name: {'command': ZOO, 'args': ['mcp'],
                     'env': dict([mark.split('='), ('SERVER', name), ('ZOO_LIFE_MS', '20000')]), **more} for name in names}
    return config, mark


def live(mark):
    """The number of servers with this mark; their keepers have the mark as well, but not KILLICK_TREE."""
    count = 0
    for pid in processes(mark):
        try:
            with open(f'/proc/{pid}/environ', 'rb') as environ:
                count += any(v.startswith(b'KILLICK_TREE=') for v in environ.read().split(b'\0'))
        except OSError:
            pass
    return count


def text(result):
    return result['content'][0]['text']


async def error(awaitable, code, words=''):
    """The awaitable fails with this code, and a sentence that has these words."""
    try:
        result = await awaitable
    except killick.KillickError as e:
        assert e.code == code and words in e.message, repr(e)
        return e
    raise AssertionError(f'no error, but {result}')


async def begin(call):
    """A task whose request is sent before those of later calls; the hub passes requests on in this order."""
    task = asyncio.ensure_future(call)
    await asyncio.sleep(0)
    return task


def both(function):
    """Run the test with the shared hub, and again with a private one."""
    async def with_a_shared_hub():
        async with killick.Client() as client:
            await function(client)

    async def with_a_private_hub():
        async with killick.Client(daemon=False) as client:
            await function(client)

    for each in (with_a_shared_hub, with_a_private_hub):
        each.__name__ = f'{function.__name__}_{each.__name__}'
        test(each)


def turns(*words):
    return subprocess.run([sys.executable, os.path.join(ROOT, 'examples', 'hub-turns.py'), *words], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=50)


def example(*options):
    run = turns(*options)
    assert run.returncode == 0, run.stdout
    lines = run.stdout.splitlines()
    # the hub knows the tools from the second turn on
    created = [3] + [0] * 23
    assert lines[:-1] == [f'turn {n}: {count} servers, 3 after the calls, 0 after disconnect'
                          for n, count in enumerate(created, 1)], run.stdout
    assert lines[-1] == '24 turns, 0 with a wrong number of processes', run.stdout


# --- the reported failure ---

@test
async def twenty_four_turns_leave_no_server_with_a_shared_hub():
    example()


@test
async def twenty_four_turns_leave_no_server_with_a_private_hub():
    example('--no-daemon')


@test
async def the_example_prints_why_a_server_failed():
    for options in [], ['--no-daemon']:
        run = turns(*options, 'nosuchserver')
        assert run.returncode == 1 and 'nosuchserver' in run.stdout, run.stdout
        assert "no tool 'files__echo'" in run.stdout and 'Traceback' not in run.stdout, run.stdout


@test
async def the_example_has_help():
    run = turns('--help')
    assert run.returncode == 0 and '--no-daemon' in run.stdout, run.stdout


# --- sessions and calls ---

@both
async def tools_of_one_server_have_plain_names(client):
    config, mark = servers('one')
    session = await client.create_session(mcp_servers=config)
    assert [(s['name'], s['state']) for s in session.servers] == [('one', 'ready')], session.servers
    assert 'echo' in [tool['name'] for tool in await session.list_tools()]
    assert text(await session.call_tool('echo', {'text': 'näh "x"\n'})) == 'näh "x"\n'
    assert live(mark) == 1


@both
async def tools_of_several_servers_have_qualified_names(client):
    config, mark = servers('one', 'two')
    session = await client.create_session(mcp_servers=config, tag='several')
    names = [tool['name'] for tool in await session.list_tools()]
    assert 'one__echo' in names and 'two__echo' in names and 'echo' not in names, names
    assert text(await session.call_tool('two__echo', {'text': 'x'})) == 'x'
    first, second = [text(await session.call_tool('pid', server=name)) for name in config]
    assert first != second and live(mark) == 2


@both
async def disconnect_returns_when_the_servers_are_gone(client):
    config, mark = servers('one', 'two', 'three')
    session = await client.create_session(config)
    assert live(mark) == 3
    report = await session.disconnect()
    assert live(mark) == 0
    assert report.proved and report.survivors == 0 and report.kept == [], report
    assert sorted(one['server'] for one in report.ended) == ['one', 'three', 'two'], report
    assert all(one['why'] == 'close' and one['proof'] for one in report.ended), report
    assert await session.disconnect() is report # a second disconnect has the same report
    await error(session.call_tool('one__echo'), killick.HUB_NOT_FOUND)


@both
async def a_server_that_ignores_its_end_is_killed(client):
    config = {'deaf': {'command': os.environ['KILLICK'], 'args': ['zoo', 'ignore']}}
    report = await (await client.create_session(config)).disconnect()
    assert report.proved and report.ended[0]['step'] == 'kill', report


@both
async def a_shared_server_is_kept_for_the_other_session(client):
    config, mark = servers('one', share='identical')
    first, second = await client.create_session(config), await client.create_session(config)
    assert live(mark) == 1
    report = await first.disconnect()
    assert report.proved and report.ended == [] and report.kept[0]['server'] == 'one', report
    assert text(await second.call_tool('echo', {'text': 'still here'})) == 'still here'
    report = await second.disconnect()
    assert report.proved and len(report.ended) == 1 and report.kept == [] and live(mark) == 0, report


@both
async def calls_at_the_same_time_share_the_connection(client):
    config, mark = servers('one', 'two')
    session = await client.create_session(config)
    await session.list_tools()
    calls = [session.call_tool(f'{("one", "two")[i % 2]}__echo', {'text': str(i)}) for i in range(200)]
    assert [text(result) for result in await asyncio.gather(*calls)] == [str(i) for i in range(200)]
    assert live(mark) == 2


@both
async def sessions_at_the_same_time_have_their_own_servers(client):
    configs = [servers('one', 'two') for _ in range(8)]
    sessions = await asyncio.gather(*(client.create_session(config) for config, _ in configs))
    assert [live(mark) for _, mark in configs] == [2] * 8
    reports = await asyncio.gather(*(session.disconnect() for session in sessions))
    assert all(report.proved and len(report.ended) == 2 for report in reports), reports
    assert [live(mark) for _, mark in configs] == [0] * 8


@both
async def a_large_answer_comes_whole(client):
    session = await client.create_session(servers('one')[0])
    assert len(text(await session.call_tool('big', {'bytes': 8 << 20}))) == 8 << 20
    sent = 'ä' * (2 << 20)
    assert text(await session.call_tool('echo', {'text': sent})) == sent


@both
async def a_tool_of_several_servers_is_called_before_the_tools_were_listed(client):
    config, _ = servers('one', 'two')
    session = await client.create_session(config)
    assert int(text(await session.call_tool('two__pid'))) > 0
    await error(session.call_tool('pid'), killick.HUB_BAD_PARAMS, "'pid'") # whose?
    await error(session.call_tool('pid', server='three'), killick.HUB_NOT_FOUND, "'three'")


@both
async def other_requests_reach_the_server(client):
    session = await client.create_session(servers('one')[0])
    assert 'prompts' in await session.request('prompts/list')
    await error(session.request('no/such'), -32601)


@both
async def a_refresh_replaces_only_changed_servers(client):
    config, mark = servers('one', 'two')
    session = await client.create_session(config)
    pid = text(await session.call_tool('pid', server='one'))
    config['three'] = config.pop('two')
    report = await session.refresh(config)
    assert [one['server'] for one in report.ended] == ['two'], report
    # a hub that is older than this package does not say which servers are unchanged
    assert report.unchanged == ['one'] or (client._daemon and report.unchanged == []), report
    assert sorted(one['name'] for one in session.servers) == ['one', 'three'], session.servers
    await session.call_tool('pid', server='three')
    assert text(await session.call_tool('pid', server='one')) == pid and live(mark) == 2


@both
async def a_session_is_made_from_a_config_file(client):
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, 'mcp.json'), 'w') as file:
            json.dump({'mcpServers': servers('one')[0]}, file)
        session = await client.create_session(config=os.path.relpath(os.path.join(directory, 'mcp.json')))
        assert text(await session.call_tool('echo', {'text': 'x'})) == 'x'


@both
async def servers_get_the_variables_and_the_directory_of_the_caller(client):
    os.environ['PACKAGES_SECRET'] = 'from the caller'
    config, _ = servers('one')
    config['one']['env']['GOT'] = '${PACKAGES_SECRET}'
    session = await client.create_session(config)
    pid = int(text(await session.call_tool('pid')))
    with open(f'/proc/{pid}/environ', 'rb') as environ:
        assert b'GOT=from the caller' in environ.read().split(b'\0')
    assert os.readlink(f'/proc/{pid}/cwd') == os.getcwd()
    del os.environ['PACKAGES_SECRET']


@both
async def env_and_cwd_replace_those_of_the_caller(client):
    config, _ = servers('one')
    config['one']['env']['GOT'] = '${PACKAGES_OTHER}'
    with tempfile.TemporaryDirectory() as directory:
        session = await client.create_session(config, cwd=directory, env={**os.environ, 'PACKAGES_OTHER': 'given',
                                                                          'TZ': 'Asia/Tokyo'})
        pid = int(text(await session.call_tool('pid')))
        with open(f'/proc/{pid}/environ', 'rb') as environ:
            variables = environ.read().split(b'\0')
        assert b'GOT=given' in variables and b'TZ=Asia/Tokyo' in variables, variables
        assert os.readlink(f'/proc/{pid}/cwd') == os.path.realpath(directory)
        await session.disconnect()


# --- failures ---

@both
async def failures_have_a_code_and_a_sentence(client):
    session = await client.create_session(servers('one')[0])
    await error(session.call_tool('no_such_tool'), killick.HUB_BAD_PARAMS, 'no such tool')
    await error(session.call_tool('echo', server='nobody'), killick.HUB_NOT_FOUND, 'nobody')
    assert (await session.call_tool('fail'))['isError'] is True # a failure that the tool reports is a result
    await error(client.create_session({'one': {'command': '/no/such', 'required': True}}), killick.HUB_FAILED, '/no/such')
    await error(client.create_session(servers('one')[0], config='x'), killick.USAGE)
    await error(client.create_session(), killick.USAGE)
    await error(client.create_session(servers('one')[0], wait='never'), killick.HUB_BAD_PARAMS, 'wait')
    await error(client.create_session(config='/no/such/config'), killick.HUB_FAILED, '/no/such/config')
    assert text(await session.call_tool('echo', {'text': 'well'})) == 'well'


@both
async def a_refresh_that_changes_every_server_leaves_none_unchanged(client):
    config, _ = servers('one', 'two')
    session = await client.create_session(config)
    await session.call_tool('pid', server='one')
    for server in config.values():
        server['env']['MORE'] = 'x'
    report = await session.refresh(config)
    assert report.unchanged == [] and report.proved, report
    assert (await session.disconnect()).unchanged == []


@both
async def an_unknown_option_is_a_type_error(client):
    session = await client.create_session(servers('one')[0])
    for call in [lambda: client.create_session(servers('one')[0], timeoutMs=1), lambda: session.list_tools(timeoutMs=1),
                 lambda: session.call_tool('echo', timeoutMs=1), lambda: session.request('ping', timeoutMs=1),
                 lambda: session.disconnect(timeoutMs=1), lambda: client.request('hub.status', timeoutMs=1),
                 lambda: killick.Client(timeoutMs=1)]:
        try:
            call()
        except TypeError as e:
            assert 'timeoutMs' in str(e), e
        else:
            raise AssertionError('no TypeError')


@both
async def a_server_that_fails_is_named_in_the_session(client):
    config, mark = servers('good', 'bad')
    config['bad']['args'] = ['mcp', 'dies']
    session = await client.create_session(config)
    states = {one['name']: one for one in session.servers}
    assert states['good']['state'] == 'ready' and states['bad']['state'] == 'failed', states
    assert 'no licence' in states['bad']['error'], states


@both
async def a_call_times_out(client):
    session = await client.create_session(servers('one')[0])
    assert (await error(session.call_tool('block', timeout=0.2), killick.TIMEOUT, '200 ms')).reason == 'timeout'
    seen = await session.call_tool('seen')
    assert seen['structuredContent']['cancelled'] == 1, seen


@both
async def a_cancelled_task_cancels_the_call(client):
    session = await client.create_session(servers('one')[0])
    task = await begin(session.call_tool('block'))
    await session.call_tool('echo') # the call before has been sent
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        pass
    seen = await session.call_tool('seen')
    assert seen['structuredContent']['cancelled'] == 1, seen


@both
async def a_cancelled_create_ends_its_servers_at_once(client):
    config, mark = servers('good', 'slow')
    config['slow'].update(args=['mcp', 'mute'], startupTimeoutSec=600) # never answers initialize
    task = asyncio.ensure_future(client.create_session(config))
    await until(lambda: live(mark) == 2, 'the start of the servers')
    task.cancel()
    try:
        raise AssertionError(await task)
    except asyncio.CancelledError:
        pass
    await until(lambda: live(mark) == 0, 'the end of the servers', 6)
    assert text(await (await client.create_session(servers('one')[0])).call_tool('echo', {'text': 'well'})) == 'well'


@both
async def a_create_that_times_out_ends_its_servers_at_once(client):
    config, mark = servers('slow')
    config['slow'].update(args=['mcp', 'mute'], startupTimeoutSec=600)
    task = asyncio.ensure_future(error(client.create_session(config, timeout=2), killick.TIMEOUT, 'session.create'))
    await until(lambda: live(mark) == 1, 'the start of the server')
    await task
    await until(lambda: live(mark) == 0, 'the end of the server', 6)


@test
async def a_cancelled_create_ends_a_server_on_an_executor_at_once():
    config, mark = servers('slow')
    config['slow'].update(args=['mcp', 'mute'], startupTimeoutSec=600, environment='far', cwd='/')
    far = {'far': {'program': [os.environ['KILLICK'], 'exec-server', '--listen', 'stdio']}}
    for daemon in True, False:
        async with killick.Client(daemon=daemon) as client:
            task = asyncio.ensure_future(client.create_session(config, environments=far))
            await until(lambda: live(mark) == 1, 'the start of the server')
            task.cancel()
            await until(lambda: live(mark) == 0, 'the end of the server', 6)


async def ask(session, method, params, **more):
    """The answer that a server gets, as text."""
    return json.dumps(await session.call_tool('ask', {'method': method, 'params': params}, **more))


@both
async def a_function_answers_the_questions_of_servers(client):
    async def elicit(server, params):
        await asyncio.sleep(0)
        return {'action': 'accept', 'content': {'name': f"{server}: {params['message']}"}}

    session = await client.create_session(servers('one')[0], on_elicitation=elicit,
                                          on_sampling=lambda server, params: {'role': 'assistant', 'model': 'm',
                                                                              'content': {'type': 'text', 'text': 'yes'}})
    assert 'one: Name?' in await ask(session, 'elicitation/create', {'message': 'Name?'})
    assert 'yes' in await ask(session, 'sampling/createMessage', {'messages': [], 'maxTokens': 1})


@both
async def only_questions_that_have_a_function_are_declared(client):
    session = await client.create_session(servers('one')[0], on_roots=lambda server, params: {'roots': []})
    assert 'roots' in await ask(session, 'roots/list', {})
    refused = await ask(session, 'elicitation/create', {'message': 'Name?'})
    assert '-32601' in refused and 'decline' not in refused, refused


@both
async def an_exception_of_the_function_is_an_error_for_the_server(client):
    def elicit(server, params):
        raise ValueError('no person is here')

    session = await client.create_session(servers('one')[0], on_elicitation=elicit)
    refused = await ask(session, 'elicitation/create', {'message': 'Name?'})
    assert 'no person is here' in refused and 'decline' not in refused, refused


@both
async def a_question_that_is_withdrawn_is_cancelled(client):
    asked, over = asyncio.Event(), asyncio.Event()

    async def elicit(server, params):
        asked.set()
        try:
            await asyncio.sleep(600)
        finally:
            over.set()

    session = await client.create_session(servers('one')[0], on_elicitation=elicit)
    call = await begin(ask(session, 'elicitation/create', {'message': 'Name?'}))
    await asked.wait()
    call.cancel()
    await asyncio.wait_for(over.wait(), 15)


@both
async def functions_get_the_notifications_of_servers(client):
    logs, lists, resources = asyncio.Queue(), asyncio.Queue(), asyncio.Queue()

    async def on_log(server, params):
        await asyncio.sleep(0)
        logs.put_nowait((server, params['level'], params['data']))

    session = await client.create_session(servers('one', 'two')[0], on_log=on_log, on_list_changed=lists.put_nowait,
                                          on_resource_updated=lambda server, params: resources.put_nowait((server, params)))
    await session.call_tool('one__log', {'text': 'a message'})
    assert await asyncio.wait_for(logs.get(), 15) == ('one', 'info', 'a message')
    await session.request('logging/setLevel', {'level': 'error'})
    await session.call_tool('one__log', {'text': 'too verbose'})
    await session.call_tool('two__log', {'text': 'loud', 'level': 'error'})
    assert await asyncio.wait_for(logs.get(), 15) == ('two', 'error', 'loud')
    for name in 'tools', 'prompts', 'resources':
        await session.call_tool('two__notify', {'what': name})
        assert await asyncio.wait_for(lists.get(), 15) == name
    await session.request('resources/subscribe', {'uri': 'zoo://a'}, server='two')
    await session.call_tool('two__notify', {'what': 'updated', 'uri': 'zoo://a'})
    assert await asyncio.wait_for(resources.get(), 15) == ('two', {'uri': 'zoo://a'})
    assert logs.empty() and lists.empty() and resources.empty()


@both
async def a_refresh_is_a_change_of_the_lists(client):
    changed = asyncio.Queue()
    config, _ = servers('one')
    session = await client.create_session(config, on_list_changed=changed.put_nowait)
    config['two'] = config['one']
    await session.refresh(config)
    assert await asyncio.wait_for(changed.get(), 15) == 'tools'


@both
async def a_function_gets_the_progress_of_its_call(client):
    session = await client.create_session(servers('one', 'two')[0])

    async def steps(count, **more):
        seen = []
        await session.call_tool('two__progress', {'n': count}, **more,
                                on_progress=lambda server, params: seen.append((server, params['progress'], params['total'],
                                                                                params['message'])))
        return seen # all of them came before the result

    for count, seen in zip((2, 3), await asyncio.gather(steps(2), steps(3, timeout=30))):
        assert seen == [('two', i, count, f'step {i}') for i in range(1, count + 1)], seen
    seen = []
    await session.request('tools/call', {'name': 'progress', '_meta': {'x/y': 1}}, server='one',
                          on_progress=lambda server, params: seen.append(params['progress']))
    assert seen == [1, 2, 3], seen
    assert text(await session.call_tool('one__progress')) == 'done' # nobody listens


@both
async def an_exception_of_a_listener_does_not_end_the_session(client):
    def fail(server, params):
        raise ValueError('not for me')

    reported = asyncio.Queue()
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.put_nowait(context['exception']))
    session = await client.create_session(servers('one')[0], on_log=fail)
    await session.call_tool('log')
    await session.call_tool('progress', {'n': 1}, on_progress=fail)
    for _ in range(2):
        gc.collect()
        assert str(await asyncio.wait_for(reported.get(), 15)) == 'not for me'
    assert text(await session.call_tool('echo', {'text': 'well'})) == 'well'


@both
async def the_end_of_a_server_fails_its_calls(client):
    session = await client.create_session(servers('one')[0])
    task = await begin(session.call_tool('block'))
    await session.call_tool('echo') # the call before has been sent
    await error(session.call_tool('crash', {'code': 3}), killick.HUB_FAILED)
    assert (await error(task, killick.HUB_FAILED)).reason == 'exited'


# --- the end of a client ---

@both
async def close_ends_the_sessions(client):
    config, mark = servers('one')
    session = await client.create_session(config)
    task = await begin(session.call_tool('block'))
    await session.call_tool('echo')
    await client.close()
    assert live(mark) == 0
    try:
        raise AssertionError(await task)
    except killick.KillickError:
        pass
    await error(client.create_session(config), killick.CLOSED)


@both
async def a_forgotten_client_ends_its_sessions(client):
    config, mark = servers('one')
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', ResourceWarning)
        other = killick.Client(daemon=client._daemon)
        session = await other.create_session(config)
        assert live(mark) == 1 and session.id
        del session, other
        gc.collect()
        await until(lambda: live(mark) == 0, 'the end of the server')


CHILD = '''
import asyncio, json, sys, killick
async def main():
    client = killick.Client(daemon=sys.argv[1] == "shared")
    session = await client.create_session(json.loads(sys.argv[2]))
    print("ready", flush=True)
    await session.call_tool("block")
asyncio.run(main())
'''


@both
async def a_killed_client_ends_its_sessions(client):
    config, mark = servers('one')
    kind = 'shared' if client._daemon else 'private'
    child = subprocess.Popen([sys.executable, '-c', CHILD, kind, json.dumps(config)], stdout=subprocess.PIPE,
                             env={**os.environ, 'PYTHONPATH': sys.path[0]})
    assert child.stdout.readline() == b'ready\n' and live(mark) == 1
    child.kill()
    child.communicate()
    await until(lambda: live(mark) == 0, 'the end of the server')


# --- the hub ---

@test
async def the_first_client_starts_the_hub():
    async with killick.Client() as first, killick.Client() as second:
        one, two = await first.request('hub.status'), await second.request('hub.status')
        assert one['pid'] == two['pid'] != os.getpid() and one['protocol'] == 1, (one, two)


@test
async def clients_that_start_at_once_get_one_hub():
    clients = [killick.Client() for _ in range(16)]
    statuses = await asyncio.gather(*(client.request('hub.status') for client in clients))
    assert len({status['pid'] for status in statuses}) == 1, statuses
    for client in clients:
        await client.close()


@test
async def a_killed_hub_leaves_no_server_and_the_next_session_gets_a_new_hub():
    config, mark = servers('one', 'two')
    async with killick.Client() as client:
        session = await client.create_session(config)
        pid = (await client.request('hub.status'))['pid']
        task = await begin(session.call_tool('block', server='one'))
        await session.call_tool('echo', server='one')
        os.kill(pid, signal.SIGKILL)
        await error(task, killick.CLOSED, 'the hub closed the connection')
        await until(lambda: live(mark) == 0, 'the end of the servers')
        await error(session.call_tool('echo'), killick.CLOSED)
        session = await client.create_session(config)
        assert text(await session.call_tool('echo', {'text': 'again'}, server='two')) == 'again' and live(mark) > 0
        assert (await client.request('hub.status'))['pid'] != pid


@test
async def a_session_with_a_lease_outlives_its_client():
    config, mark = servers('one')
    async with killick.Client() as client:
        name = (await client.create_session(config, lease=60)).id
    assert live(mark) == 1
    async with killick.Client() as client:
        session = await client.session(name)
        await session.renew()
        assert text(await session.call_tool('echo', {'text': 'x'})) == 'x'
        report = await session.disconnect()
        assert report.proved and live(mark) == 0
        await error(client.create_session(config, lease=-1), killick.HUB_BAD_PARAMS, 'lease')


@test
async def events_tell_what_happens():
    async with killick.Client() as client, killick.Client() as other:
        events = client.events(['session.opened', 'session.closed'])
        first = asyncio.ensure_future(events.__anext__())
        await client.request('session.list') # the subscription was sent before
        session = await other.create_session(servers('one')[0])
        event = await first
        assert event['event'] == 'session.opened' and event['session'] == session.id, event
        await session.disconnect()
        event = await events.__anext__()
        assert event['event'] == 'session.closed' and event['session'] == session.id, event
        await events.aclose()


@test
async def each_private_hub_is_a_child_of_the_process_and_ends_with_its_client():
    async with killick.Client(daemon=False) as first, killick.Client(daemon=False) as second:
        pids = [(await client.request('hub.status'))['pid'] for client in (first, second)]
        assert len(set(pids)) == 2 and all(os.path.exists(f'/proc/{pid}') for pid in pids), pids
    assert not any(os.path.exists(f'/proc/{pid}') for pid in pids) # and no zombie is left


@test
async def a_missing_program_is_named():
    await error(killick.Client(program='/no/such/killick').open(), killick.SYSTEM, '/no/such/killick')
    for name, words in [('/no/such/killick', '/no/such/killick'), ('/bin/false', 'status 1')]:
        await error(killick.Client(daemon=False, program=name).open(), killick.SYSTEM, words)
    await error(killick.Client(program='/bin/false').open(), killick.SYSTEM, 'status 1')
    await error(killick.Client(socket='/no/such/socket').open(), killick.SYSTEM, '/no/such/socket')
    await error(killick.Client(program='/bin/true', timeout=0.3).open(), killick.TIMEOUT)


@test
async def the_packages_have_the_version_of_the_program():
    said = subprocess.run([os.environ['KILLICK'], '--version'], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[1]
    with open(os.path.join(ROOT, 'clients', 'node', 'package.json')) as package, \
            open(os.path.join(ROOT, 'clients', 'python', 'pyproject.toml')) as project:
        assert json.load(package)['version'] == killick.__version__ == said
        assert f'version = "{said}"\n' in project.read()


@test
async def a_session_of_the_official_sdk_is_held():
    if importlib.util.find_spec('mcp') is None:
        raise Skip("the official SDK is not installed: 'pip install mcp', or python3-mcp of Debian unstable")
    from mcp import ClientSession, StdioServerParameters
    _, mark = servers('one')
    server = StdioServerParameters(command=ZOO, args=['mcp'], env={**os.environ, **dict([mark.split('=')])})
    async with killick.stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        assert 'echo' in [tool.name for tool in (await session.list_tools()).tools]
        assert (await session.call_tool('echo', {'text': 'x'})).content[0].text == 'x'
        await session.call_tool('spawn')
        await until(lambda: live(mark) == 2, 'the start of the daemon')
    assert live(mark) == 0


# The part of the SDK that killick.stdio_client uses, with bytes for streams. (Debian 12 and 13 have no package of the SDK.)
SDK = '''
import asyncio, contextlib, dataclasses
@dataclasses.dataclass
class StdioServerParameters:
    command: str
    args: list = dataclasses.field(default_factory=list)
    env: dict = None
    def model_copy(self, *, update):
        return dataclasses.replace(self, **update)
@contextlib.asynccontextmanager
async def stdio_client(server, errlog=None):
    process = await asyncio.create_subprocess_exec(server.command, *server.args, stdin=-1, stdout=-1, stderr=errlog, env=server.env)
    try:
        yield process.stdout, process.stdin
    finally:
        process.stdin.close()
        await process.wait()
'''


@test
async def a_server_of_the_sdk_is_held():
    if importlib.util.find_spec('mcp') is not None:
        raise Skip('the SDK itself is installed')
    with tempfile.TemporaryDirectory() as directory:
        os.makedirs(os.path.join(directory, 'mcp', 'client'))
        with open(os.path.join(directory, 'mcp', 'client', 'stdio.py'), 'w') as file:
            file.write(SDK)
        await error(killick.stdio_client(None).__aenter__(), killick.SYSTEM, "needs the package 'mcp'")
        sys.path.insert(0, directory)
        try:
            stdio = importlib.import_module('mcp.client.stdio')
            _, mark = servers('one')
            server = stdio.StdioServerParameters(os.environ['KILLICK'], ['zoo', 'daemon'],
                                                 {**os.environ, **dict([mark.split('=')])})
            with open(os.devnull, 'w') as errlog:
                async with killick.stdio_client(server, errlog) as (read, write):
                    write.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
                    assert b'"id":1' in await asyncio.wait_for(read.readline(), 15)
                    await until(lambda: live(mark) >= 2, 'the start of the daemon')
            assert live(mark) == 0
        finally:
            sys.path.remove(directory)


@test
async def the_package_has_complete_types():
    if shutil.which('mypy') is None:
        raise Skip("there is no mypy: run 'scripts/bootstrap test', or 'apt-get install mypy'")
    with tempfile.TemporaryDirectory() as cache:
        run = subprocess.run(['mypy', '--strict', '--cache-dir', cache, os.path.join(ROOT, 'clients', 'python', 'killick')],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=50)
    assert run.returncode == 0, run.stdout


# --- what a real hub never does ---

@contextlib.asynccontextmanager
async def peer(answer):
    """A client of a program that answers the first line with these bytes, and then closes; None: it waits."""
    async def serve(reader, writer):
        await reader.readline()
        if answer is None:
            await reader.read()
        else:
            writer.write(answer)
        writer.close()

    path = os.path.join(os.environ['KILLICK_RUNTIME_DIR'], 'peer.sock')
    if os.path.exists(path):
        os.unlink(path)
    server = await asyncio.start_unix_server(serve, path)
    async with killick.Client(socket=path) as client:
        yield client
    server.close()


@test
async def a_broken_answer_is_an_error():
    for answer, code, words in [(b'nonsense\n', killick.PROTOCOL, 'not JSON'), (b'\xff\xfe\n', killick.PROTOCOL, 'not JSON'),
                                (b'[]\n', killick.PROTOCOL, 'not a message'), (b'{"id":1}\n', killick.PROTOCOL, 'neither'),
                                (b'{"id":1,"result":3}\n', killick.PROTOCOL, 'not an object'),
                                (b'{"id":1,"error":{}}\n', killick.PROTOCOL, ''),
                                (b'{"id":7,"result":{}}\n{"method":"event"}\n', killick.CLOSED, 'closed the connection'),
                                (b'', killick.CLOSED, 'closed the connection')]:
        async with peer(answer) as client:
            await error(client.request('hub.status'), code, words)


@test
async def a_hub_that_does_not_answer_times_out():
    async with peer(None) as client:
        await error(client.request('hub.status', timeout=0.1), killick.TIMEOUT, '0.1 s')


main()
