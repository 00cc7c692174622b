// sessions.mjs KILLICK.EXE SESSIONS - the reported workload: one client, many sessions one after another, three servers in
// each, every server a node.exe behind a .cmd shim. After each close the judge (tests/windows/judge, by lines on
// standard output and input) counts what is left: with killick nothing; with the plain SDK it is printed for comparison.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

import { ask, finish, leftOf, result, shim } from './judged.mjs';

const SERVERS = 3;
const PLAIN_SESSIONS = 3;
const EMPTY_MS = 10_000;
const [killick, sessions] = [process.argv[2], Number(process.argv[3])];

async function open(command, args, tag) {
  const transport = new StdioClientTransport({
    command, args: [...args, tag], env: { ...process.env, WINEDEBUG: `-all,-${tag}` }, stderr: 'ignore',
  });
  const client = new Client({ name: 'sessions', version: '1' });
  await client.connect(transport);
  const { tools } = await client.listTools();
  if (tools.length !== 1)
    throw new Error(`${tools.length} tools`);
  return client;
}

// One session: processes while it was open, and what is left after its close.
async function session(command, args, number, ms) {
  const tag = `ks${process.pid}n${number}`;
  const clients = await Promise.all(Array.from({ length: SERVERS }, () => open(command, args, tag)));
  const during = await ask('count', tag);
  await Promise.all(clients.map((client) => client.close()));
  const left = await leftOf(tag, ms);
  await ask('scrub', tag);
  return { during: during.count, left };
}

let total = 0, most = 0;
for (let i = 0; i < sessions; i++) {
  const { during, left } = await session(killick, ['run', '--grace', '300ms', '--', shim], i, EMPTY_MS);
  most = Math.max(most, during);
  total += left.count;
  if (left.count)
    console.log(`# session ${i}: ${left.text}`);
}
result(total === 0, `${sessions} sessions x ${SERVERS} servers with killick: ${total} processes left, ${most} at most during a session`);
let plain = 0;
for (let i = 0; i < PLAIN_SESSIONS; i++)
  plain += (await session(shim, [], `p${i}`, 1000)).left.count;
result(plain > 0, `${PLAIN_SESSIONS} sessions x ${SERVERS} servers with the plain SDK: ${plain} processes left`);
finish();
