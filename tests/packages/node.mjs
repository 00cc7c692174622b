// node.mjs - the Node package against the real hub, shared and private. Environment: KILLICK, ZOO. Run with --expose-gc.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readlinkSync, realpathSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { Client, Code, KillickError } from '../../clients/node/index.js';
import { main, processes, test, until, variables } from './tap.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const { ZOO, KILLICK } = process.env;
const MODES = [['with a shared hub', true], ['with a private hub', false]];
let number = 0;

// Servers with a mark of their own, and the mark. They live longer than a test waits.
function servers(names, more = {}) {
  const value = `${process.pid}.${++number}`;
  const config = Object.fromEntries(names.map((name) => [name,
    { command: ZOO, args: ['mcp'], env: { PACKAGES_MARK: value, SERVER: name, ZOO_LIFE_MS: '20000' }, ...more }]));
  return [config, `PACKAGES_MARK=${value}`];
}

// The number of servers with this mark; their keepers have the mark as well, but not KILLICK_TREE.
function live(mark) {
  return processes(mark).filter((pid) => variables(pid).some((each) => each.startsWith('KILLICK_TREE='))).length;
}

const text = (result) => result.content[0].text;

// The promise fails with this code, and a sentence that has these words.
async function error(promise, code, words = '') {
  let result;
  try {
    result = await promise;
  } catch (e) {
    assert(e instanceof KillickError && e.code === code && e.message.includes(words), `${e.code} ${e.stack}`);
    return e;
  }
  throw new Error(`no error, but ${JSON.stringify(result)}`);
}

// Run the test with a shared hub, and again with a private one.
function both(name, run) {
  for (const [words, daemon] of MODES) {
    test(`${name} ${words}`, async () => {
      const client = await Client.open({ daemon });
      try {
        await run(client, daemon);
      } finally {
        await client.close();
      }
    });
  }
}

function turns(...words) {
  return spawnSync(process.execPath, [join(ROOT, 'examples', 'hub-turns.mjs'), ...words], { encoding: 'utf8', timeout: 50_000 });
}

function example(...options) {
  const run = turns(...options);
  // the hub knows the tools from the second turn on
  const wanted = Array.from({ length: 24 }, (_, i) =>
    `turn ${i + 1}: ${i === 0 ? 3 : 0} servers, 3 after the calls, 0 after disconnect`);
  assert.deepEqual(run.stdout.trim().split('\n'), [...wanted, '24 turns, 0 with a wrong number of processes'], run.stderr);
  assert.equal(run.status, 0);
}

// --- the reported failure ---

test('24 turns leave no server with a shared hub', async () => example());
test('24 turns leave no server with a private hub', async () => example('--no-daemon'));

test('the example prints why a server failed', async () => {
  for (const options of [[], ['--no-daemon']]) {
    const { status, stderr } = turns(...options, 'nosuchserver');
    assert.equal(status, 1, stderr);
    assert(stderr.includes('nosuchserver') && stderr.includes("no tool 'files__echo'"), stderr);
    assert(!stderr.includes('    at '), stderr);
  }
});

test('the example has help and refuses unknown options', async () => {
  const help = turns('--help');
  assert(help.status === 0 && help.stdout.startsWith('usage: ') && help.stdout.includes('--no-daemon'), help.stderr);
  for (const words of [['--turn', '1'], ['--turns', 'x'], ['--turns']]) {
    const { status, stderr } = turns(...words);
    assert(status === 64 && stderr.includes('usage: ') && !stderr.includes('    at '), stderr);
  }
});

// --- sessions and calls ---

both('tools of one server have plain names', async (client) => {
  const [mcpServers, mark] = servers(['one']);
  const session = await client.createSession({ mcpServers });
  assert.deepEqual(session.servers.map(({ name, state }) => [name, state]), [['one', 'ready']]);
  assert((await session.listTools()).some((tool) => tool.name === 'echo'));
  assert.equal(text(await session.callTool('echo', { text: 'näh "x"\n' })), 'näh "x"\n');
  assert.equal(live(mark), 1);
});

both('tools of several servers have qualified names', async (client) => {
  const [mcpServers, mark] = servers(['one', 'two']);
  const session = await client.createSession({ mcpServers, tag: 'several' });
  const names = (await session.listTools()).map((tool) => tool.name);
  assert(names.includes('one__echo') && names.includes('two__echo') && !names.includes('echo'), names.join());
  assert.equal(text(await session.callTool('two__echo', { text: 'x' })), 'x');
  const pids = await Promise.all(['one', 'two'].map((server) => session.callTool('pid', {}, { server })));
  assert.notEqual(text(pids[0]), text(pids[1]));
  assert.equal(live(mark), 2);
});

both('disconnect resolves when the servers are gone', async (client) => {
  const [mcpServers, mark] = servers(['one', 'two', 'three']);
  const session = await client.createSession({ mcpServers });
  assert.equal(live(mark), 3);
  const report = await session.disconnect();
  assert.equal(live(mark), 0);
  assert(report.proved && report.survivors === 0 && report.kept.length === 0, JSON.stringify(report));
  assert.deepEqual(report.ended.map((one) => one.server).sort(), ['one', 'three', 'two']);
  assert(report.ended.every((one) => one.why === 'close' && one.proof.length > 0), JSON.stringify(report));
  assert.equal(await session.disconnect(), report);
  await error(session.callTool('one__echo'), Code.HUB_NOT_FOUND);
});

both('a server that ignores its end is killed', async (client) => {
  const session = await client.createSession({ mcpServers: { deaf: { command: KILLICK, args: ['zoo', 'ignore'] } } });
  const report = await session.disconnect();
  assert(report.proved && report.ended[0].step === 'kill', JSON.stringify(report));
});

both('a shared server is kept for the other session', async (client) => {
  const [mcpServers, mark] = servers(['one'], { share: 'identical' });
  const first = await client.createSession({ mcpServers });
  const second = await client.createSession({ mcpServers });
  assert.equal(live(mark), 1);
  let report = await first.disconnect();
  assert(report.proved && report.ended.length === 0 && report.kept[0].server === 'one', JSON.stringify(report));
  assert.equal(text(await second.callTool('echo', { text: 'still here' })), 'still here');
  report = await second.disconnect();
  assert(report.proved && report.ended.length === 1 && report.kept.length === 0, JSON.stringify(report));
  assert.equal(live(mark), 0);
});

both('calls at the same time share the connection', async (client) => {
  const [mcpServers, mark] = servers(['one', 'two']);
  const session = await client.createSession({ mcpServers });
  const results = await Promise.all(Array.from({ length: 200 }, (_, i) =>
    session.callTool('echo', { text: String(i) }, { server: ['one', 'two'][i % 2] })));
  assert.deepEqual(results.map(text), Array.from({ length: 200 }, (_, i) => String(i)));
  assert.equal(live(mark), 2);
});

both('sessions at the same time have their own servers', async (client) => {
  const configs = Array.from({ length: 8 }, () => servers(['one', 'two']));
  const sessions = await Promise.all(configs.map(([mcpServers]) => client.createSession({ mcpServers })));
  assert(configs.every(([, mark]) => live(mark) === 2));
  const reports = await Promise.all(sessions.map((session) => session.disconnect()));
  assert(reports.every((report) => report.proved && report.ended.length === 2), JSON.stringify(reports));
  assert(configs.every(([, mark]) => live(mark) === 0));
});

both('a large answer comes whole', async (client) => {
  const session = await client.createSession({ mcpServers: servers(['one'])[0] });
  assert.equal(text(await session.callTool('big', { bytes: 8 << 20 })).length, 8 << 20);
  const sent = 'ä'.repeat(2 << 20);
  assert(text(await session.callTool('echo', { text: sent })) === sent);
});

both('a tool of several servers is called before the tools were listed', async (client) => {
  const session = await client.createSession({ mcpServers: servers(['one', 'two'])[0] });
  assert(Number(text(await session.callTool('two__pid'))) > 0);
  await error(session.callTool('pid'), Code.HUB_BAD_PARAMS, "'pid'"); // whose?
  await error(session.callTool('pid', {}, { server: 'three' }), Code.HUB_NOT_FOUND, "'three'");
});

both('other requests reach the server', async (client) => {
  const session = await client.createSession({ mcpServers: servers(['one'])[0] });
  assert((await session.request('prompts/list')).prompts);
  await error(session.request('no/such'), -32601);
});

both('a refresh replaces only changed servers', async (client) => {
  const [{ one, two }, mark] = servers(['one', 'two']);
  const session = await client.createSession({ mcpServers: { one, two } });
  const pid = text(await session.callTool('pid', {}, { server: 'one' }));
  const report = await session.refresh({ mcpServers: { one, three: two } });
  assert.deepEqual(report.ended.map((each) => each.server), ['two']);
  // a hub that is older than this package does not say which servers are unchanged
  assert(['one', ''].includes(report.unchanged.join()), JSON.stringify(report));
  assert.deepEqual(session.servers.map((each) => each.name).sort(), ['one', 'three']);
  await session.callTool('pid', {}, { server: 'three' });
  assert.equal(text(await session.callTool('pid', {}, { server: 'one' })), pid);
  assert.equal(live(mark), 2);
});

both('a session is made from a config file', async (client) => {
  const directory = mkdtempSync(join(tmpdir(), 'killick-packages-'));
  const file = join(directory, 'mcp.json');
  writeFileSync(file, JSON.stringify({ mcpServers: servers(['one'])[0] }));
  const session = await client.createSession({ config: relative(process.cwd(), file) });
  assert.equal(text(await session.callTool('echo', { text: 'x' })), 'x');
  rmSync(directory, { recursive: true });
});

both('servers get the variables and the directory of the caller', async (client) => {
  const [mcpServers] = servers(['one']);
  process.env.PACKAGES_SECRET = 'from the caller';
  mcpServers.one.env.GOT = '${PACKAGES_SECRET}';
  const session = await client.createSession({ mcpServers });
  const pid = text(await session.callTool('pid'));
  assert(variables(pid).includes('GOT=from the caller'));
  assert.equal(readlinkSync(`/proc/${pid}/cwd`), process.cwd());
  delete process.env.PACKAGES_SECRET;
});

both('env and cwd replace those of the caller', async (client) => {
  const [mcpServers] = servers(['one']);
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'killick-packages-')));
  mcpServers.one.env.GOT = '${PACKAGES_OTHER}';
  const session = await client.createSession({ mcpServers, cwd,
    env: { ...process.env, PACKAGES_OTHER: 'given', TZ: 'Asia/Tokyo' } });
  const pid = text(await session.callTool('pid'));
  assert(variables(pid).includes('GOT=given') && variables(pid).includes('TZ=Asia/Tokyo'));
  assert.equal(readlinkSync(`/proc/${pid}/cwd`), cwd);
  await session.disconnect();
  rmSync(cwd, { recursive: true });
});

// --- failures ---

both('failures have a code and a sentence', async (client) => {
  const [mcpServers] = servers(['one']);
  const session = await client.createSession({ mcpServers });
  await error(session.callTool('no_such_tool'), Code.HUB_BAD_PARAMS, 'no such tool');
  await error(session.callTool('echo', {}, { server: 'nobody' }), Code.HUB_NOT_FOUND, 'nobody');
  assert.equal((await session.callTool('fail')).isError, true); // a failure that the tool reports is a result
  await error(client.createSession({ mcpServers: { one: { command: '/no/such', required: true } } }), Code.HUB_FAILED,
    '/no/such');
  await error(client.createSession({ mcpServers, config: 'x' }), Code.USAGE);
  await error(client.createSession({}), Code.USAGE);
  await error(client.createSession({ mcpServers, wait: 'never' }), Code.HUB_BAD_PARAMS, 'wait');
  await error(client.createSession({ config: '/no/such/config' }), Code.HUB_FAILED, '/no/such/config');
  await error(client.request('no.such'), Code.HUB_NO_METHOD, 'no.such');
  assert.equal(text(await session.callTool('echo', { text: 'well' })), 'well');
});

both('a refresh that changes every server leaves none unchanged', async (client) => {
  const [mcpServers] = servers(['one', 'two']);
  const session = await client.createSession({ mcpServers });
  await session.callTool('pid', {}, { server: 'one' });
  for (const server of Object.values(mcpServers))
    server.env.MORE = 'x';
  const report = await session.refresh({ mcpServers });
  assert.deepEqual(report.unchanged, [], JSON.stringify(report));
});

both('an unknown option is a TypeError', async (client, daemon) => {
  const [mcpServers] = servers(['one']);
  const session = await client.createSession({ mcpServers });
  const wrong = { timeout: 500 };
  for (const [name, call] of Object.entries({
    'Client.open': () => Client.open({ daemon, ...wrong }),
    createSession: () => client.createSession({ mcpServers, ...wrong }),
    listTools: () => session.listTools(wrong),
    callTool: () => session.callTool('echo', {}, wrong),
    'request of a session': () => session.request('ping', {}, wrong),
    refresh: () => session.refresh({ mcpServers, ...wrong }),
    renew: () => session.renew(wrong),
    disconnect: () => session.disconnect(wrong),
    'request of a client': () => client.request('hub.status', {}, wrong),
    close: () => client.close(wrong),
  }))
    await assert.rejects(call(), (e) => e instanceof TypeError && /unknown option 'timeout'.*timeout/i.test(e.message), name);
  assert.throws(() => new Client(wrong), TypeError);
  assert.equal(text(await session.callTool('echo', { text: 'still open' })), 'still open');
});

both('a server that fails is named in the session', async (client) => {
  const [mcpServers] = servers(['good', 'bad']);
  mcpServers.bad.args = ['mcp', 'dies'];
  const session = await client.createSession({ mcpServers });
  const [good, bad] = session.servers;
  assert(good.state === 'ready' && bad.state === 'failed' && bad.error.includes('no licence'), JSON.stringify(session.servers));
});

both('a call times out', async (client) => {
  const session = await client.createSession({ mcpServers: servers(['one'])[0] });
  const e = await error(session.callTool('block', {}, { timeoutMs: 200 }), Code.TIMEOUT, '200 ms');
  assert.equal(e.reason, 'timeout');
  assert.equal((await session.callTool('seen')).structuredContent.cancelled, 1);
});

both('an aborted signal cancels the call', async (client) => {
  const session = await client.createSession({ mcpServers: servers(['one'])[0] });
  const abort = new AbortController();
  const call = session.callTool('block', {}, { signal: abort.signal });
  await session.callTool('echo'); // the call before has been sent
  const reason = new Error('the person has left');
  abort.abort(reason);
  await assert.rejects(call, (e) => e === reason);
  assert.equal((await session.callTool('seen')).structuredContent.cancelled, 1);
  await assert.rejects(session.callTool('echo', {}, { signal: abort.signal }), (e) => e === reason);
  await assert.rejects(session.callTool('block', {}, { signal: AbortSignal.timeout(50) }), { name: 'TimeoutError' });
});

both('an aborted create ends its servers at once', async (client) => {
  const [mcpServers, mark] = servers(['good', 'slow']);
  Object.assign(mcpServers.slow, { args: ['mcp', 'mute'], startupTimeoutSec: 600 }); // never answers initialize
  const abort = new AbortController();
  const created = client.createSession({ mcpServers, signal: abort.signal });
  await until(() => live(mark) === 2, 'the start of the servers');
  abort.abort();
  await assert.rejects(created, { name: 'AbortError' });
  await until(() => live(mark) === 0, 'the end of the servers', 6000);
});

// The answer that a server gets, as text.
async function ask(session, method, params, options) {
  return JSON.stringify(await session.callTool('ask', { method, params }, options));
}

both('a function answers the questions of servers', async (client) => {
  const session = await client.createSession({
    mcpServers: servers(['one'])[0],
    onElicitation: async (server, { message }) => ({ action: 'accept', content: { name: `${server}: ${message}` } }),
    onSampling: () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'yes' } }),
  });
  assert.match(await ask(session, 'elicitation/create', { message: 'Name?' }), /one: Name\?/);
  assert.match(await ask(session, 'sampling/createMessage', { messages: [], maxTokens: 1 }), /yes/);
  const refused = await ask(session, 'roots/list', {}); // nobody answers this question, so it was not declared
  assert(refused.includes('-32601') && !refused.includes('decline'), refused);
});

both('an exception of the function is an error for the server', async (client) => {
  const session = await client.createSession({
    mcpServers: servers(['one'])[0],
    onElicitation: () => {
      throw new Error('no person is here');
    },
  });
  const refused = await ask(session, 'elicitation/create', { message: 'Name?' });
  assert(refused.includes('no person is here') && !refused.includes('decline'), refused);
});

both('a question that is withdrawn is aborted', async (client) => {
  let isAsked;
  const asked = new Promise((resolve) => {
    isAsked = resolve;
  });
  const session = await client.createSession({
    mcpServers: servers(['one'])[0],
    onElicitation: (server, params, { signal }) => new Promise((resolve, reject) => {
      isAsked(signal);
      signal.addEventListener('abort', () => reject(signal.reason));
    }),
  });
  const abort = new AbortController();
  const call = ask(session, 'elicitation/create', { message: 'Name?' }, { signal: abort.signal });
  const signal = await asked;
  abort.abort();
  await assert.rejects(call, { name: 'AbortError' });
  await until(() => signal.aborted, 'the end of the question');
});

// A listener, and what it has got so far; next() waits for more.
function collect(take = (first) => first) {
  const got = [];
  return {
    got,
    listener: (...args) => got.push(take(...args)),
    next: async () => {
      await until(() => got.length > 0, 'a notification');
      return got.shift();
    },
  };
}

both('functions get the notifications of servers', async (client) => {
  const logs = collect((server, { level, data }) => [server, level, data]);
  const lists = collect();
  const resources = collect((server, params) => [server, params]);
  const session = await client.createSession({
    mcpServers: servers(['one', 'two'])[0], onLog: logs.listener, onListChanged: lists.listener,
    onResourceUpdated: resources.listener,
  });
  await session.callTool('one__log', { text: 'a message' });
  assert.deepEqual(await logs.next(), ['one', 'info', 'a message']);
  await session.request('logging/setLevel', { level: 'error' });
  await session.callTool('one__log', { text: 'too verbose' });
  await session.callTool('two__log', { text: 'loud', level: 'error' });
  assert.deepEqual(await logs.next(), ['two', 'error', 'loud']);
  for (const what of ['tools', 'prompts', 'resources']) {
    await session.callTool('two__notify', { what });
    assert.equal(await lists.next(), what);
  }
  await session.request('resources/subscribe', { uri: 'zoo://a' }, { server: 'two' });
  await session.callTool('two__notify', { what: 'updated', uri: 'zoo://a' });
  assert.deepEqual(await resources.next(), ['two', { uri: 'zoo://a' }]);
  assert.deepEqual([...logs.got, ...lists.got, ...resources.got], []);
});

both('a refresh is a change of the lists', async (client) => {
  const lists = collect();
  const [{ one }] = servers(['one']);
  const session = await client.createSession({ mcpServers: { one }, onListChanged: lists.listener });
  await session.refresh({ mcpServers: { one, two: one } });
  assert.equal(await lists.next(), 'tools');
});

both('a function gets the progress of its call', async (client) => {
  const session = await client.createSession({ mcpServers: servers(['one', 'two'])[0] });
  const steps = async (n, more) => {
    const { got, listener } = collect((server, { progress, total, message }) => [server, progress, total, message]);
    await session.callTool('two__progress', { n }, { ...more, onProgress: listener });
    assert.deepEqual(got, Array.from({ length: n }, (_, i) => ['two', i + 1, n, `step ${i + 1}`])); // before the result
  };
  await Promise.all([steps(2), steps(3, { timeoutMs: 30_000 })]);
  const { got, listener } = collect((server, { progress }) => progress);
  await session.request('tools/call', { name: 'progress', _meta: { 'x/y': 1 } }, { server: 'one', onProgress: listener });
  assert.deepEqual(got, [1, 2, 3]);
  assert.equal(text(await session.callTool('one__progress')), 'done'); // nobody listens
});

both('an exception of a listener does not end the session', async (client) => {
  const rejected = collect((e) => e.message);
  const fail = () => {
    throw new Error('not for me');
  };
  process.on('unhandledRejection', rejected.listener);
  try {
    const session = await client.createSession({ mcpServers: servers(['one'])[0], onLog: fail });
    await session.callTool('log');
    await session.callTool('progress', { n: 1 }, { onProgress: fail });
    assert.deepEqual([await rejected.next(), await rejected.next()], ['not for me', 'not for me']);
    assert.equal(text(await session.callTool('echo', { text: 'well' })), 'well');
  } finally {
    process.off('unhandledRejection', rejected.listener);
  }
});

test('index.d.ts has the names that exist at run time, and no other', async () => {
  const types = readFileSync(join(ROOT, 'clients', 'node', 'index.d.ts'), 'utf8');
  const declared = [...types.matchAll(/^export (?:const|class|function) (\w+)/gm)].map((found) => found[1]);
  const index = await import('../../clients/node/index.js');
  assert.deepEqual(declared.sort(), Object.keys(index).sort());
  for (const name of ['Client', 'Session']) {
    const body = types.slice(types.indexOf(`export class ${name} `)).split('\n}')[0];
    const methods = [...body.matchAll(/^  (?:private )?(?:readonly )?(?:static )?(\w+)[(:]/gm)].map((found) => found[1]);
    const real = new Set([...Object.getOwnPropertyNames(index[name].prototype), ...Object.getOwnPropertyNames(index[name]),
      'id', 'tag', 'servers']);
    for (const method of methods)
      assert(real.has(method), `${name}.${method} is declared and missing`);
    for (const method of Object.getOwnPropertyNames(index[name].prototype))
      assert(methods.includes(method), `${name}.${method} is not declared`);
  }
  const codes = types.slice(types.indexOf('export const Code')).split('\n}')[0];
  assert.deepEqual([...codes.matchAll(/readonly (\w+): (-\d+)/g)].map(([, name, code]) => [name, Number(code)]),
    Object.entries(Code));
});

both('the end of a server fails its calls', async (client) => {
  const session = await client.createSession({ mcpServers: servers(['one'])[0] });
  const call = error(session.callTool('block'), Code.HUB_FAILED);
  await error(session.callTool('crash', { code: 3 }), Code.HUB_FAILED);
  assert.equal((await call).reason, 'exited');
});

// --- the end of a client ---

both('close ends the sessions', async (client) => {
  const [mcpServers, mark] = servers(['one']);
  const session = await client.createSession({ mcpServers });
  const call = session.callTool('block').catch((e) => e);
  await session.callTool('echo');
  await client.close();
  assert.equal(live(mark), 0);
  assert(await call instanceof KillickError);
  await error(client.createSession({ mcpServers }), Code.CLOSED);
});

both('a client and a session can be disposed', async (client, daemon) => {
  const [mcpServers, mark] = servers(['one']);
  const dispose = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose');
  const other = await Client.open({ daemon });
  const session = await client.createSession({ mcpServers });
  await (await other.createSession({ mcpServers })).callTool('echo');
  assert.equal(live(mark), 2);
  await session[dispose]();
  await other[dispose]();
  assert.equal(live(mark), 0);
});

both('a forgotten client ends its sessions', async (client, daemon) => {
  const [mcpServers, mark] = servers(['one']);
  await (async () => {
    const other = await Client.open({ daemon });
    const session = await other.createSession({ mcpServers });
    assert(session.id && live(mark) === 1);
  })();
  for (let i = 0; i < 100 && live(mark) > 0; i++) {
    await sleep(20);
    globalThis.gc();
  }
  await until(() => live(mark) === 0, 'the end of the server');
});

const CHILD = `
  import { Client } from ${JSON.stringify(new URL('../../clients/node/index.js', import.meta.url).href)};
  const client = await Client.open({ daemon: process.argv[1] === 'true' });
  const session = await client.createSession({ mcpServers: JSON.parse(process.argv[2]) });
  console.log('ready');
  await session.callTool('block');`;

both('a killed client ends its sessions', async (client, daemon) => {
  const [mcpServers, mark] = servers(['one']);
  const child = spawn(process.execPath, ['--input-type=module', '-e', CHILD, String(daemon), JSON.stringify(mcpServers)],
    { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await new Promise((resolve) => child.stdout.once('data', (bytes) => resolve([String(bytes)])));
  assert.equal(line, 'ready\n');
  assert.equal(live(mark), 1);
  child.kill('SIGKILL');
  await until(() => live(mark) === 0, 'the end of the server');
});

// --- the hub ---

test('the first client starts the hub', async () => {
  const clients = [await Client.open(), await Client.open()];
  const [one, two] = await Promise.all(clients.map((client) => client.request('hub.status')));
  assert(one.pid === two.pid && one.pid !== process.pid && one.protocol === 1, JSON.stringify([one, two]));
  await Promise.all(clients.map((client) => client.close()));
});

test('clients that start at once get one hub', async () => {
  const clients = Array.from({ length: 16 }, () => new Client());
  const statuses = await Promise.all(clients.map((client) => client.request('hub.status')));
  assert.equal(new Set(statuses.map((status) => status.pid)).size, 1);
  await Promise.all(clients.map((client) => client.close()));
});

both('a killed hub leaves no server and the next session gets a new hub', async (client) => {
  const [mcpServers, mark] = servers(['one', 'two']);
  let session = await client.createSession({ mcpServers });
  const { pid } = await client.request('hub.status');
  const call = error(session.callTool('block', {}, { server: 'one' }), Code.CLOSED, 'the hub closed the connection');
  await session.callTool('echo', {}, { server: 'one' });
  process.kill(pid, 'SIGKILL');
  await call;
  await until(() => live(mark) === 0, 'the end of the servers');
  await error(session.callTool('echo'), Code.CLOSED);
  session = await client.createSession({ mcpServers });
  assert.equal(text(await session.callTool('echo', { text: 'again' }, { server: 'two' })), 'again');
  assert(live(mark) > 0);
  assert.notEqual((await client.request('hub.status')).pid, pid);
});

test('a session with a lease outlives its client', async () => {
  const [mcpServers, mark] = servers(['one']);
  let client = await Client.open();
  const { id } = await client.createSession({ mcpServers, lease: 60_000 });
  await client.close();
  assert.equal(live(mark), 1);
  client = await Client.open();
  const session = await client.session(id);
  await session.renew();
  assert.equal(text(await session.callTool('echo', { text: 'x' })), 'x');
  assert.equal((await session.disconnect()).proved, true);
  assert.equal(live(mark), 0);
  await error(client.createSession({ mcpServers, lease: -1 }), Code.HUB_BAD_PARAMS, 'lease');
  await client.close();
});

test('events tell what happens', async () => {
  const [client, other] = [await Client.open(), await Client.open()];
  const events = client.events(['session.opened', 'session.closed']);
  const first = events.next();
  await client.request('session.list'); // the subscription was sent before
  const session = await other.createSession({ mcpServers: servers(['one'])[0] });
  const opened = (await first).value;
  assert(opened.event === 'session.opened' && opened.session === session.id, JSON.stringify(opened));
  await session.disconnect();
  const closed = (await events.next()).value;
  assert(closed.event === 'session.closed' && closed.session === session.id, JSON.stringify(closed));
  const end = events.next();
  await client.close();
  assert.equal((await end).done, true);
  await other.close();
});

test('a missing program is named', async () => {
  await error(Client.open({ program: '/no/such/killick' }), Code.SYSTEM, '/no/such/killick');
  await error(Client.open({ program: '/no/such/killick', daemon: false }), Code.SYSTEM, '/no/such/killick');
  await error(Client.open({ program: '/bin/false' }), Code.SYSTEM, 'status 1');
  await error(Client.open({ socket: '/no/such/socket' }), Code.SYSTEM, '/no/such/socket');
  await error(Client.open({ program: '/bin/true', connectTimeoutMs: 300 }), Code.TIMEOUT);
});

// --- what a real hub never does ---

// A client of a program that answers the first line with these bytes, and then closes; null: it waits.
async function peer(answer) {
  const path = join(process.env.KILLICK_RUNTIME_DIR, 'peer.sock');
  if (existsSync(path))
    unlinkSync(path);
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => answer !== null && socket.end(answer));
  });
  await new Promise((resolve) => server.listen(path, resolve));
  return { client: new Client({ socket: path }), server };
}

test('a broken answer is an error', async () => {
  for (const [answer, code, words] of [
    ['nonsense\n', Code.PROTOCOL, 'not JSON'], ['3\n', Code.PROTOCOL, 'not a message'],
    ['{"id":1}\n', Code.PROTOCOL, 'neither'], ['{"id":1,"result":3}\n', Code.PROTOCOL, 'not an object'],
    ['{"id":1,"error":{}}\n', Code.PROTOCOL, ''],
    ['{"id":7,"result":{}}\n{"method":"event"}\n', Code.CLOSED, 'closed the connection'],
    ['', Code.CLOSED, 'closed the connection'],
  ]) {
    const { client, server } = await peer(answer);
    await error(client.request('hub.status'), code, words);
    await client.close();
    server.close();
  }
});

test('a hub that does not answer times out', async () => {
  const { client, server } = await peer(null);
  await error(client.request('hub.status', {}, { timeoutMs: 100 }), Code.TIMEOUT, '100 ms');
  await client.close();
  server.close();
});

await main();
