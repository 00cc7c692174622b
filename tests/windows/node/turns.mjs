// turns.mjs KILLICK.EXE TURNS - the reported workload with the package clients/node, as in examples/hub-turns.mjs: one client
// with a private hub, one session per turn, the same three servers in each turn, every server a node.exe behind a .cmd
// file. After each step the judge counts the processes that have the tag of the turn.
import { spawnSync } from 'node:child_process';

import { Client, Code } from '../../../clients/node/index.js';
import { ask, finish, leftOf, result, shim } from './judged.mjs';

const NAMES = ['files', 'search', 'memory'];
const EMPTY_MS = 10_000; // Wine's own processes for a program end a moment after the program
const [program, turns] = [process.argv[2], Number(process.argv[3])];
const client = await Client.open({ program });
const during = new Set(), pids = new Set();
let left = 0, proved = 0, ended = 0;

for (let turn = 0; turn < turns; turn++) {
  const tag = `ht${process.pid}n${turn}`;
  const mcpServers = Object.fromEntries(NAMES.map((name) => [name,
    { command: shim, args: [tag], env: { SERVER: name, WINEDEBUG: `-all,-${tag}` }, startupTimeoutSec: 120 }]));
  const session = await client.createSession({ mcpServers });
  for (const name of NAMES)
    pids.add((await session.callTool(`${name}__pid`)).content[0].text + tag);
  during.add((await ask('count', tag)).count);
  const report = await session.disconnect();
  proved += report.proved;
  ended += report.ended.length;
  const rest = await leftOf(tag, EMPTY_MS);
  left += rest.count;
  if (!report.proved || rest.count)
    console.log(`# turn ${turn}: ${rest.text} ${JSON.stringify(report)}`);
  await ask('scrub', tag);
}
const [most] = during;
result(pids.size === turns * NAMES.length, `${turns} turns x ${NAMES.length} servers: ${pids.size} servers answered`);
result(during.size === 1 && most >= NAMES.length && most % NAMES.length === 0,
  `the same number of processes in each turn: ${[...during].join(', ')}`);
result(proved === turns && ended === turns * NAMES.length, `${ended} servers ended, ${proved} reports with proof`);
result(left === 0, `${left} processes left after disconnect`);

// The end of the client without a disconnect is the end of its servers.
const tag = `ht${process.pid}last`;
const session = await client.createSession({
  mcpServers: { files: { command: shim, args: [tag], env: { WINEDEBUG: `-all,-${tag}` }, startupTimeoutSec: 120 } },
});
await session.callTool('pid');
const open = await ask('count', tag);
await client.close();
const last = await leftOf(tag, EMPTY_MS);
result(open.count > 0 && last.count === 0, `the end of the client ends its servers: ${open.count} before, ${last.count} after`);

// A hub that other programs can use is refused.
const refused = await Client.open({ daemon: true, program }).catch((e) => e);
result(refused.code === Code.SYSTEM, `a shared hub is refused: ${refused.message}`);
const hub = spawnSync(program, ['hub'], { encoding: 'utf8' });
result(hub.status === 69 && /^killick: hub: [^\n]*\n$/.test(hub.stderr.replace('\r', '')), `also by the program: ${hub.stderr.trim()}`);
finish();
