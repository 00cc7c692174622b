#!/usr/bin/env node
// hub-turns.mjs - one client, one session per turn of an agent, the same three servers in each turn.
//
//	./hub-turns.mjs [--no-daemon] [--turns N] [COMMAND...]
//
// COMMAND is an MCP server with the tool `echo`; the default is `killick zoo plain`. Each turn creates a session, calls a
// tool of each server and disconnects. The program counts the server processes in /proc after each step: those that are
// ready when the session is created (the hub knows the tools of a server that has run before, and starts it with its first
// call), three after the calls, none after the end. --no-daemon uses a private hub, a child of this program. The package
// is clients/node.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';

import { Client } from '../clients/node/index.js';

const USAGE = `usage: hub-turns.mjs [--no-daemon] [--turns N] [COMMAND...]

One session per turn of an agent, with three servers.

  --no-daemon  use a private hub, a child of this program
  --turns N    the number of turns; default: 24
  COMMAND      an MCP server with the tool \`echo\`; default: killick zoo plain
`;
const NAMES = ['files', 'search', 'memory'];

// End the program, and so its sessions.
function fail(status, message) {
  process.stderr.write(`hub-turns.mjs: ${message}\n`);
  process.exit(status);
}

const options = { daemon: true, turns: 24 };
const words = process.argv.slice(2);
while (words[0]?.startsWith('--')) {
  const word = words.shift();
  if (word === '--no-daemon') {
    options.daemon = false;
  } else if (word === '--turns' && /^\d+$/.test(words[0])) {
    options.turns = Number(words.shift());
  } else if (word === '--help') {
    process.stdout.write(USAGE);
    process.exit(0);
  } else {
    fail(64, word === '--turns' ? `--turns needs a number\n${USAGE}` : `unknown option ${word}\n${USAGE}`);
  }
}
const [command, ...args] = words.length ? words : [process.env.KILLICK ?? 'killick', 'zoo', 'plain'];
const mark = String(process.pid);
const mcpServers = Object.fromEntries(NAMES.map((name) =>
  [name, { command, args, env: { HUB_TURNS: mark, SERVER: name } }]));

// The number of processes of servers. They inherit the mark, and KILLICK_TREE, which their keepers do not have.
function live() {
  return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).filter((pid) => {
    try {
      const variables = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
      return variables.includes(`HUB_TURNS=${mark}`) && variables.some((each) => each.startsWith('KILLICK_TREE='));
    } catch {
      return false; // another user's process, or a process that has ended
    }
  }).length;
}

// One turn: the counts after each of its steps.
async function turn(client) {
  const counts = [];
  const session = await client.createSession({ mcpServers, tag: 'turn' });
  counts.push(live());
  assert.equal(counts[0], session.servers.filter((each) => each.state === 'ready').length, JSON.stringify(session.servers));
  const tools = (await session.listTools()).map((tool) => tool.name);
  for (const name of NAMES) {
    const text = `hello ${name}`;
    if (!tools.includes(`${name}__echo`))
      fail(1, `no tool '${name}__echo'; the servers of the session: ${JSON.stringify(session.servers)}`);
    const result = await session.callTool(`${name}__echo`, { text });
    assert.equal(result.content[0].text, text);
  }
  counts.push(live());
  const report = await session.disconnect();
  counts.push(live());
  assert(report.proved && report.ended.length === NAMES.length, JSON.stringify(report));
  return counts;
}

const client = await Client.open({ daemon: options.daemon });
let wrong = 0;
for (let number = 1; number <= options.turns; number++) {
  const [created, called, left] = await turn(client);
  if (created > NAMES.length || called !== NAMES.length || left !== 0)
    wrong++;
  console.log(`turn ${number}: ${created} servers, ${called} after the calls, ${left} after disconnect`);
}
await client.close();
console.log(`${options.turns} turns, ${wrong} with a wrong number of processes`);
process.exitCode = wrong ? 1 : 0;
