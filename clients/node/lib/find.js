// find.js - where the hub of this user listens, and how to start one.
import { spawn } from 'node:child_process';
import { accessSync, constants, lstatSync, statSync } from 'node:fs';
import { createConnection } from 'node:net';
import { delimiter, isAbsolute, join, resolve, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { Code, KillickError } from './error.js';
import { Link } from './link.js';

const RETRY_MS = 20; // between two attempts to connect to a hub that starts
const PATIENCE_MS = 1000;
const NOT_THERE = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EAGAIN']);

// The directories in which a hub may have its socket: those of killick's records.
function runtimeDirs() {
  if (process.env.KILLICK_RUNTIME_DIR)
    return [process.env.KILLICK_RUNTIME_DIR];
  const uid = process.geteuid();
  return [uid === 0 ? '/run/killick' : `/run/user/${uid}/killick`, `/tmp/killick-${uid}`];
}

// Does only this user write to the directory? Otherwise its socket may belong to another user.
function isOwnDir(path) {
  const st = lstatSync(path, { throwIfNoEntry: false });
  return Boolean(st?.isDirectory() && st.uid === process.geteuid() && !(st.mode & 0o022));
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

// The path of the program `killick`.
export function programPath(given) {
  const name = given ?? (process.env.KILLICK || 'killick');
  const names = process.platform === 'win32' && !/\.exe$/i.test(name) ? [`${name}.exe`, name] : [name];
  const hasDir = isAbsolute(name) || name.includes('/') || name.includes(sep);
  const dirs = hasDir ? [process.cwd()] : (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  for (const dir of dirs) {
    for (const each of names) {
      const path = hasDir ? resolve(dir, each) : join(dir, each);
      if (isProgram(path))
        return path;
    }
  }
  throw new KillickError(Code.SYSTEM, `program '${name}' not found; install killick, or set KILLICK to its full path`);
}

// A connection to the hub that listens there; null if none does.
function connectTo(path) {
  return new Promise((resolvePromise, reject) => {
    const socket = createConnection({ path });
    socket.once('connect', () => {
      socket.removeAllListeners('error');
      resolvePromise(new Link(socket, socket, () => socket.destroy()));
    });
    socket.once('error', (e) => {
      if (NOT_THERE.has(e.code))
        resolvePromise(null);
      else
        reject(new KillickError(Code.SYSTEM, `cannot connect to the hub at '${path}': ${e.message}`));
    });
  });
}

async function connectOnce(given) {
  if (given)
    return connectTo(given);
  for (const dir of runtimeDirs().filter(isOwnDir)) {
    const link = await connectTo(join(dir, 'hub.sock'));
    if (link)
      return link;
  }
  return null;
}

// Starts a hub that does not end with this process. When another hub runs, the new hub exits.
class Starter {
  #program;
  #exit = null; // { at, status } once the hub ended
  #error = null;

  constructor(program) {
    this.#program = programPath(program);
    this.#start();
  }

  #start() {
    const hub = spawn(this.#program, ['hub', '--detached'], { detached: true, stdio: 'ignore' });
    this.#exit = null;
    hub.on('error', (e) => {
      this.#error = e;
    });
    hub.on('exit', (status, signal) => {
      this.#exit = { at: Date.now(), status: status ?? signal };
    });
    hub.unref();
  }

  // Called after each failed attempt to connect. A hub exits when another hub is there, which may not listen yet, or
  // may be about to leave: so an exit is no failure for PATIENCE_MS.
  check() {
    if (this.#error)
      throw new KillickError(Code.SYSTEM, `cannot start a hub: ${this.#error.message}`);
    if (!this.#exit || Date.now() < this.#exit.at + PATIENCE_MS)
      return;
    if (this.#exit.status !== 0)
      throw new KillickError(Code.SYSTEM, `cannot start a hub: '${this.#program} hub' exited with status ` +
        `${this.#exit.status}; run it to see the reason`);
    this.#start();
  }
}

// A connection to the hub of this user, which is started if no hub runs. path: only to the hub at this path.
export async function connect({ socket: path, program, connectTimeoutMs }) {
  if (process.platform === 'win32')
    throw new KillickError(Code.SYSTEM, 'there is no shared hub on Windows yet; use Client.open({ daemon: false })');
  const end = Date.now() + connectTimeoutMs;
  let starter = null;
  for (;;) {
    const link = await connectOnce(path);
    if (link)
      return link;
    if (path)
      throw new KillickError(Code.SYSTEM, `no hub listens at '${path}'`);
    if (Date.now() > end)
      throw new KillickError(Code.TIMEOUT,
        `no hub answered within ${connectTimeoutMs} ms; run 'killick hub' to see the reason`);
    starter ??= new Starter(program);
    starter.check();
    await sleep(RETRY_MS);
  }
}

// A hub of this process alone, on its stdin and stdout. It ends with its stdin, so also with this process.
export async function startPrivate({ program, connectTimeoutMs }) {
  const path = programPath(program);
  const hub = spawn(path, ['hub', '--quiet', '--listen', 'stdio'],
    { stdio: ['pipe', 'pipe', 'inherit'], windowsHide: true });
  const link = new Link(hub.stdout, hub.stdin, () => {
    hub.stdin.destroy();
    hub.stdout.destroy();
  });
  const failed = new Promise((_, reject) => {
    hub.once('error', (e) => reject(new KillickError(Code.SYSTEM, `cannot start a hub: ${e.message}`)));
    hub.once('exit', (status, signal) => reject(new KillickError(Code.SYSTEM,
      `cannot start a hub: '${path} hub --listen stdio' exited with status ${status ?? signal}`)));
  });
  failed.catch(() => {}); // the hub may end when nobody waits for its start any more
  const answered = link.request('hub.status', {}, connectTimeoutMs).catch((e) => {
    if (e.code === Code.CLOSED)
      return failed; // which knows the reason
    hub.kill();
    throw e;
  });
  await Promise.race([answered, failed]);
  return link;
}
