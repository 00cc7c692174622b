// link.js - the connection to a hub: JSON-RPC 2.0, one message per line (killick-hub(7)).
import { answerError, Code, KillickError } from './error.js';

const LINE_MAX = 128 << 20; // bytes; the hub's own messages are shorter
const NEWLINE = 0x0a;
const ANSWER_MS = 60_000;
const INTERNAL_ERROR = -32603;

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
  #handlers = new Map(); // by the session: functions, by the method of their question or notification
  #questions = new Map(); // that are being answered: an AbortController for each
  #progress = new Map(); // by the progress token: functions
  #lastId = 0;
  #lastToken = 0;
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
  // handlers: of session.create, functions for questions and notifications of servers, by their method.
  request(method, params, timeoutMs, signal, handlers) {
    if (this.#error)
      return Promise.reject(this.#error);
    if (signal?.aborted)
      return Promise.reject(signal.reason);
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const leave = (error) => {
        this.#settle(id)?.reject(error);
        this.#abandon(id, method);
      };
      const onAbort = () => leave(signal.reason);
      const timer = setTimeout(
        () => leave(new KillickError(Code.TIMEOUT, `${method} timed out after ${timeoutMs} ms`)), Math.min(timeoutMs, 2 ** 31 - 1));
      signal?.addEventListener('abort', onAbort, { once: true });
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      this.#waiting.set(id, { resolve, reject, done, handlers });
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
    else if ('method' in message)
      this.#takeNotification(message.method, message.params ?? {});
    else if ('result' in message || (message.error !== null && typeof message.error === 'object'))
      this.#takeAnswer(message);
    else
      this.#refuse('the hub sent a message that is neither an answer nor a notification');
  }

  #takeAnswer({ id, result, error }) {
    const waiting = this.#settle(id);
    if (!waiting)
      this.#takeLate(id, result);
    else if (error)
      waiting.reject(answerError(error));
    else {
      if (waiting.handlers && result?.session) // the next message may be a question
        this.#handlers.set(result.session, waiting.handlers);
      waiting.resolve(result);
    }
  }

  #takeNotification(method, params) {
    if (method === 'event')
      this.onEvent?.(params);
    else if (method === 'session.question')
      this.#answer(params);
    else if (method === 'session.withdrawn')
      this.#questions.get(`${params.session} ${params.question}`)?.abort(new Error('the server has withdrawn the question'));
    else if (method === 'session.notification')
      this.#tell(params);
  }

  // Call the listener. Its exception becomes a rejection that the program does not handle.
  async #tell({ session, server, method, params }) {
    const listener = method === 'notifications/progress'
      ? this.#progress.get(params?.progressToken) : this.#handlers.get(session)?.[method];
    await listener?.(server, params);
  }

  // The token of a request whose progress the listener gets, until forgetProgress.
  addProgress(listener) {
    const token = `killick.${++this.#lastToken}`; // the program may have tokens of its own
    this.#progress.set(token, listener);
    return token;
  }

  forgetProgress(token) {
    this.#progress.delete(token);
  }

  // Ask the program. Its exception becomes an error for the server: nobody but the program decides.
  async #answer({ session, question, server, method, params }) {
    const key = `${session} ${question}`;
    const abort = new AbortController();
    let reply;
    this.#questions.set(key, abort);
    try {
      const answerer = this.#handlers.get(session)?.[method];
      if (!answerer)
        throw new KillickError(Code.HUB_NO_METHOD, `the program does not answer ${method}`);
      const result = await answerer(server, params, { signal: abort.signal });
      if (result === null || typeof result !== 'object')
        throw new TypeError(`the answer to ${method} is not an object`);
      reply = { result };
      JSON.stringify(reply);
    } catch (e) {
      const code = e instanceof KillickError ? e.code : INTERNAL_ERROR;
      reply = { error: { code, message: `the program failed: ${e?.message ?? e}` } };
    }
    this.#questions.delete(key);
    if (!abort.signal.aborted && !this.#error)
      this.request('session.answer', { session, question, ...reply }, ANSWER_MS).catch(() => {}); // the question may be over
  }

  // The session ends: nobody gets its questions and notifications any more.
  forgetSession(session) {
    this.#handlers.delete(session);
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
    for (const abort of this.#questions.values())
      abort.abort(error);
    this.onEvent?.(null);
  }
}

function closedByHub(reason) {
  return new KillickError(Code.CLOSED, `the hub closed the connection${reason}; its sessions are over: create new ones`);
}
