// tap.mjs - tests as async functions, in the order of their definition; results on stdout, as TAP.
//
// Each test has a runtime directory of its own, and so a hub of its own. After a test no process may be left that has
// this directory in its environment.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const TIMEOUT_MS = 60_000;
const GONE_MS = 15_000;
const tests = [];

export function test(name, run) {
  tests.push({ name, run });
}

export function variables(pid) {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
  } catch {
    return []; // another user's process, or a process that has ended
  }
}

// The ids of the processes whose environment has this entry, except this process.
export function processes(entry) {
  return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).map(Number)
    .filter((pid) => pid !== process.pid && variables(pid).includes(entry));
}

export async function until(condition, what, ms = GONE_MS) {
  const end = Date.now() + ms;
  while (!condition()) {
    assert(Date.now() < end, `${what} did not happen within ${ms} ms`);
    await sleep(10);
  }
}

// Works also when no hub runs.
function endHub() {
  spawnSync(process.env.KILLICK, ['hub', 'stop'], { stdio: 'ignore', timeout: GONE_MS });
}

async function runOne(run) {
  const directory = mkdtempSync(join(tmpdir(), 'killick-packages-'));
  const mark = `KILLICK_RUNTIME_DIR=${directory}`;
  let timer;
  process.env.KILLICK_RUNTIME_DIR = directory;
  process.env.XDG_CACHE_HOME = join(directory, 'cache'); // no server is known yet
  try {
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`the test took more than ${TIMEOUT_MS} ms`)), TIMEOUT_MS);
    });
    await Promise.race([run(), late]);
  } finally {
    clearTimeout(timer);
    try {
      // a hub that lost the race of a start may get the lock when the first hub has ended
      await until(() => {
        endHub();
        return processes(mark).length === 0;
      }, 'the end of the hub and its servers');
    } finally {
      for (const pid of processes(mark))
        process.kill(pid, 'SIGKILL');
      rmSync(directory, { recursive: true });
    }
  }
}

// Run all tests, or those whose name has one of the words that are the arguments.
export async function main() {
  const words = process.argv.slice(2);
  const chosen = tests.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
  let failed = 0;
  console.log(`1..${chosen.length}`);
  for (const [index, { name, run }] of chosen.entries()) {
    let word = 'ok';
    try {
      await runOne(run);
    } catch (e) {
      word = 'not ok';
      failed++;
      console.log(String(e?.stack ?? e).replace(/^/gm, '# '));
    }
    console.log(`${word} ${index + 1} - ${name}`);
  }
  process.exit(failed ? 1 : 0); // a test that failed may have left a connection open
}
