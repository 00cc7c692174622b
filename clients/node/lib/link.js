// link.js - the connection to a hub: JSON-RPC 2.0, one message per line (killick-hub(7)).
import { Code, KillickError } from './error.js';

const LINE_MAX = 128 << 20; // bytes; the hub's own messages are shorter
const NEWLINE = 0x0a;

// One connection. Many requests may wait at the same time; answers come in any order. A link has no reference to its
// client, so that a forgotten client is freed.
export class Link {
  #input;
  #output;
  #end; // ends the connection at once
  #parts = []; // of a line that is not complete
  #size = 0; // bytes of the parts
  #waiting = new Map();
  #late = new Set(); // ids of session.create whose caller has left
  #lastId = 0;
  #error = null; // why the connection is over
  #gone;

  onEvent = null;

  // input and output: streams, which may be the same. end(): destroys both.
  constructor(input, output, end) {
    this.#input = input;
    this.#output = output;
    this.#end = end;
    this.#gone = new Promise((resolve) => input.once('close', resolve));
    input.on('data', (bytes) => this.#takeBytes(bytes));
    input.on('close', () => this.#fail(closedByHub('')));
    input.on('end', () => this.#fail(closedByHub('')));
    input.on('error', (e) => this.#fail(closedByHub(` (${e.message})`)));
    if (output !== input)
      output.on('error', (e) => this.#fail(closedByHub(` (${e.message})`)));
  }

  get isOpen() {
    return this.#error === null;
  }

  // The result. The answer to a request that timed out, or whose signal was aborted, is ignored.
  request(method, params, timeoutMs, signal) {
    if (this.#error)
      return Promise.reject(this.#error);
    if (signal?.aborted)
      return Promise.reject(cancelled(method));
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const leave = (error) => {
        this.#settle(id)?.reject(error);
        this.#abandon(id, method);
      };
      const onAbort = () => leave(cancelled(method));
      const timer = setTimeout(
        () => leave(new KillickError(Code.TIMEOUT, `${method} timed out after ${timeoutMs} ms`)), Math.min(timeoutMs, 2 ** 31 - 1));
      signal?.addEventListener('abort', onAbort, { once: true });
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      this.#waiting.set(id, { resolve, reject, done });
      this.#send({ jsonrpc: '2.0', id, method, params });
    });
  }

  // Close the connection; the hub ends its sessions.
  async close(timeoutMs) {
    this.#fail(new KillickError(Code.CLOSED, 'the client was closed'));
    this.#output.end();
    let timer;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, timeoutMs);
    });
    await Promise.race([this.#gone, late]);
    clearTimeout(timer);
    this.#end();
  }

  // The client was forgotten.
  abandon() {
    this.#refuse('the client was freed without close()');
  }

  #takeBytes(bytes) {
    let from = 0;
    for (let at; (at = bytes.indexOf(NEWLINE, from)) >= 0; from = at + 1) {
      this.#parts.push(bytes.subarray(from, at));
      const line = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts);
      this.#parts = [];
      this.#size = 0;
      if (line.length > 0)
        this.#takeLine(line);
    }
    if (from < bytes.length) {
      this.#parts.push(bytes.subarray(from));
      this.#size += bytes.length - from;
    }
    if (this.#size > LINE_MAX)
      this.#refuse(`a line of the hub has more than ${LINE_MAX} bytes`);
  }

  #takeLine(line) {
    let message;
    if (this.#error)
      return;
    try {
      message = JSON.parse(line.toString());
    } catch (e) {
      this.#refuse(`the hub sent a line that is not JSON: ${e.message}`);
      return;
    }
    if (message === null || typeof message !== 'object')
      this.#refuse('the hub sent JSON that is not a message');
    else if (message.method === 'event')
      this.onEvent?.(message.params ?? {});
    else if ('result' in message || (message.error !== null && typeof message.error === 'object'))
      this.#takeAnswer(message);
    else if (!('method' in message))
      this.#refuse('the hub sent a message that is neither an answer nor a notification');
  }

  #takeAnswer({ id, result, error }) {
    const waiting = this.#settle(id);
    if (!waiting)
      this.#takeLate(id, result);
    else if (error)
      waiting.reject(new KillickError(error.code ?? Code.PROTOCOL, error.message ?? '', error.data));
    else
      waiting.resolve(result);
  }

  // The caller of this session.create has left and does not know the session: end the session.
  #takeLate(id, result) {
    if (this.#late.delete(id) && result?.session)
      this.#send({ jsonrpc: '2.0', id: ++this.#lastId, method: 'session.destroy', params: { session: result.session } });
  }

  #settle(id) {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.done();
    return waiting;
  }

  #abandon(id, method) {
    if (this.#error)
      return;
    if (method === 'session.create')
      this.#late.add(id);
    this.#send({ jsonrpc: '2.0', method: 'cancel', params: { id } });
  }

  #send(message) {
    if (!this.#error)
      this.#output.write(`${JSON.stringify(message)}\n`);
  }

  #refuse(reason) {
    this.#fail(new KillickError(Code.PROTOCOL, reason));
    this.#end();
  }

  // The connection is over: every request that waits fails.
  #fail(error) {
    if (this.#error)
      return;
    this.#error = error;
    for (const id of [...this.#waiting.keys()])
      this.#settle(id).reject(error);
    this.onEvent?.(null);
  }
}

function closedByHub(reason) {
  return new KillickError(Code.CLOSED, `the hub closed the connection${reason}; its sessions are over: create new ones`);
}

function cancelled(method) {
  return new KillickError(Code.CANCELLED, `${method} was cancelled`);
}
