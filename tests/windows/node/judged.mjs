// judged.mjs - what the tests of this folder share: results as TAP, the questions to the judge (tests/windows/judge, by
// lines on standard output and input), and a server that is a node.exe behind a .cmd file.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const dir = mkdtempSync(join(tmpdir(), 'killick-judged-'));
let tests = 0, failed = 0;

export const shim = join(dir, 'deaf.cmd');
writeFileSync(shim, `@"${process.execPath}" "${fileURLToPath(new URL('server.mjs', import.meta.url))}" %*\r\n`);

export function result(ok, name) {
  failed += !ok;
  console.log(`${ok ? 'ok' : 'not ok'} ${++tests} - ${name}`);
}

export async function ask(word, tag) {
  console.log(`?${word} ${tag}`);
  const { value } = await lines.next();
  return { count: parseInt(value, 10), text: value };
}

// What is left, when nothing is or at the deadline.
export async function leftOf(tag, ms) {
  const until = Date.now() + ms;
  for (;;) {
    const left = await ask('count', tag);
    if (left.count === 0 || Date.now() > until)
      return left;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export function finish() {
  console.log(`1..${tests}`);
  rmSync(dir, { recursive: true });
  process.exit(failed ? 1 : 0);
}
