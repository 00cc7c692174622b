// client.js - clients and sessions.
import { resolve } from 'node:path';

import { Code, KillickError } from './error.js';
import { connect, startPrivate } from './find.js';

// The hub has shorter timeouts of its own; these are for a hub that does not answer at all.
const CONNECT_MS = 20_000;
const REQUEST_MS = 60_000;
const CREATE_MS = 600_000; // servers may have to be downloaded
const CALL_MS = 3_600_000;
const CALL_MARGIN_MS = 5000; // the hub ends a call at its timeout; the answer takes a moment
const EVENTS_MAX = 4096; // that wait for one iterator

// Symbol.asyncDispose where Node has it, and the symbol that compilers use in its place.
const asyncDispose = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose');

const forgotten = new FinalizationRegistry((link) => link.abandon());

function object(result, method) {
  if (result === null || typeof result !== 'object' || Array.isArray(result))
    throw new KillickError(Code.PROTOCOL, `the result of ${method} is not an object`);
  return result;
}

// The functions that answer questions of servers; only what has a function is declared to servers.
const QUESTIONS = [
  { option: 'onElicitation', feature: 'elicitation', method: 'elicitation/create' },
  { option: 'onSampling', feature: 'sampling', method: 'sampling/createMessage' },
  { option: 'onRoots', feature: 'roots', method: 'roots/list' },
];

const LISTS = ['tools', 'prompts', 'resources'];

// The functions that get notifications of servers, by the method of their notification.
function listeners({ onLog, onListChanged, onResourceUpdated }) {
  return {
    ...onLog && { 'notifications/message': onLog },
    ...onResourceUpdated && { 'notifications/resources/updated': onResourceUpdated },
    ...onListChanged && Object.fromEntries(LISTS.map((name) =>
      [`notifications/${name}/list_changed`, () => onListChanged(name)])),
  };
}

const CONFIG_OPTIONS = ['mcpServers', 'config', 'environments', 'env', 'cwd'];

// The options of each function: an unknown name is probably misspelt and must not be ignored.
const OPTIONS = {
  Client: ['daemon', 'socket', 'program', 'connectTimeoutMs'],
  createSession: [...CONFIG_OPTIONS, 'tag', 'lease', 'onElicitation', 'onSampling', 'onRoots', 'onLog', 'onListChanged',
    'onResourceUpdated', 'wait', 'timeoutMs', 'signal'],
  listTools: ['server', 'timeoutMs', 'signal'],
  callTool: ['server', 'timeoutMs', 'signal', 'onProgress'],
  request: ['server', 'timeoutMs', 'signal', 'onProgress'],
  refresh: [...CONFIG_OPTIONS, 'timeoutMs', 'signal'],
  renew: ['timeoutMs'],
  disconnect: ['timeoutMs'],
  'client.request': ['timeoutMs', 'signal'],
  close: ['timeoutMs'],
};

// The options, if all of them are known.
function known(options, method) {
  const unknown = Object.keys(options).find((name) => !OPTIONS[method].includes(name));
  if (unknown !== undefined)
    throw new TypeError(`${method}: unknown option '${unknown}'; there are ${OPTIONS[method].join(', ')}`);
  return options;
}

// The params that describe the servers of a session.
function configParams({ mcpServers, config, environments, env, cwd }) {
  if ((mcpServers === undefined) === (config === undefined))
    throw new KillickError(Code.USAGE, 'give either mcpServers or config');
  const dir = resolve(cwd ?? process.cwd());
  return {
    mcpServers, environments, config: config === undefined ? undefined : resolve(dir, config),
    environ: { ...(env ?? process.env) }, cwd: dir,
  };
}

export class Session {
  #client; // keeps the connection open
  #link;
  #ending = null;
  #onEnd;

  constructor(client, link, created, onEnd) {
    this.id = created.session;
    this.tag = created.tag ?? null;
    this.servers = created.servers ?? [];
    this.#client = client;
    this.#link = link;
    this.#onEnd = onEnd;
  }

  get client() {
    return this.#client;
  }

  async listTools(options = {}) {
    const { server, timeoutMs = CALL_MS, signal } = known(options, 'listTools');
    return (await this.#request('tool.list', { server }, timeoutMs, signal)).tools ?? [];
  }

  async callTool(name, args, options = {}) {
    const { server } = known(options, 'callTool');
    return this.#call('tool.call', options, (meta) => ({ server, tool: name, arguments: args, _meta: meta }));
  }

  async request(method, params, options = {}) {
    const { server } = known(options, 'request');
    return this.#call('mcp.request', options, (meta) =>
      ({ server, method, params: meta ? { ...params, _meta: { ...params?._meta, ...meta } } : params }));
  }

  async refresh(options = {}) {
    const { timeoutMs = CREATE_MS, signal } = known(options, 'refresh');
    const report = await this.#request('session.refresh', configParams(options), timeoutMs, signal);
    this.servers = report.servers ?? [];
    return { unchanged: [], ...report };
  }

  async renew(options = {}) {
    const { timeoutMs = REQUEST_MS } = known(options, 'renew');
    await this.#request('session.renew', {}, timeoutMs);
  }

  async disconnect(options = {}) {
    const { timeoutMs = REQUEST_MS } = known(options, 'disconnect');
    this.#ending ??= this.#request('session.destroy', {}, timeoutMs).finally(() => {
      this.#link.forgetSession(this.id);
      this.#onEnd(this);
    });
    return this.#ending;
  }

  async [asyncDispose]() {
    await this.disconnect();
  }

  // paramsWith(meta): the params of the method; meta: members of _meta, or undefined.
  async #call(method, { timeoutMs, signal, onProgress }, paramsWith) {
    const token = onProgress && this.#link.addProgress(onProgress);
    const params = paramsWith(token && { progressToken: token });
    try {
      return await this.#request(method, { ...params, timeoutMs },
        timeoutMs === undefined ? CALL_MS : timeoutMs + CALL_MARGIN_MS, signal);
    } finally {
      this.#link.forgetProgress(token);
    }
  }

  async #request(method, params, timeoutMs, signal) {
    return object(await this.#link.request(method, { session: this.id, ...params }, timeoutMs, signal), method);
  }
}

export class Client {
  #options;
  #link = null;
  #connecting = null;
  #closed = false;
  #sessions = new Map(); // sessions without a lease, and their links
  #listeners = new Set();

  constructor(options = {}) {
    known(options, 'Client');
    this.#options = { daemon: process.platform !== 'win32', connectTimeoutMs: CONNECT_MS, ...options };
  }

  static async open(options) {
    const client = new Client(options);
    await client.#connected();
    return client;
  }

  async createSession(options = {}) {
    const { tag, lease, wait, timeoutMs = CREATE_MS, signal } = known(options, 'createSession');
    const asked = QUESTIONS.filter(({ option }) => options[option]);
    const told = listeners(options);
    const handlers = { ...Object.fromEntries(asked.map(({ option, method }) => [method, options[option]])), ...told };
    const notifications = Object.keys(told).length > 0 || undefined;
    const features = asked.length ? asked.map(({ feature }) => feature) : undefined;
    const params = { ...configParams(options), tag, lease, features, notifications, wait };
    const { link, created } = await this.#create(params, timeoutMs, signal, handlers);
    const session = new Session(this, link, object(created, 'session.create'), (ended) => this.#sessions.delete(ended));
    if (lease === undefined)
      this.#sessions.set(session, link);
    return session;
  }

  async session(id) {
    return new Session(this, await this.#connected(), { session: id }, () => {});
  }

  async request(method, params = {}, options = {}) {
    const { timeoutMs = REQUEST_MS, signal } = known(options, 'client.request');
    const link = await this.#connected();
    return object(await link.request(method, params, timeoutMs, signal), method);
  }

  async *events(names) {
    const events = [];
    let wake = () => {};
    const listener = (event) => {
      if (events.length >= EVENTS_MAX)
        events.shift();
      events.push(event);
      wake();
    };
    await this.#connected();
    this.#listeners.add(listener);
    try {
      await this.request('events.subscribe', names ? { events: [...names] } : {});
      for (;;) {
        while (events.length === 0)
          await new Promise((resolvePromise) => {
            wake = resolvePromise;
          });
        const event = events.shift();
        if (event === null)
          return;
        yield event;
      }
    } finally {
      this.#listeners.delete(listener);
    }
  }

  async close(options = {}) {
    const { timeoutMs = REQUEST_MS } = known(options, 'close');
    this.#closed = true;
    const link = this.#link;
    this.#link = null;
    if (!link)
      return;
    forgotten.unregister(this);
    if (link.isOpen) {
      const sessions = [...this.#sessions].filter(([, of]) => of === link).map(([session]) => session);
      await Promise.allSettled(sessions.map((session) => session.disconnect({ timeoutMs })));
    }
    await link.close(timeoutMs);
  }

  async [asyncDispose]() {
    await this.close();
  }

  async #create(params, timeoutMs, signal, handlers) {
    let link = await this.#connected();
    try {
      return { link, created: await link.request('session.create', params, timeoutMs, signal, handlers) };
    } catch (e) {
      if (e.code !== Code.CLOSED || this.#closed)
        throw e;
    }
    link = await this.#connected(); // the hub left, or was killed: the next one gets the session
    return { link, created: await link.request('session.create', params, timeoutMs, signal, handlers) };
  }

  async #connected() {
    if (this.#closed)
      throw new KillickError(Code.CLOSED, 'the client was closed');
    if (this.#link?.isOpen)
      return this.#link;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = null;
    });
    return this.#connecting;
  }

  async #connect() {
    const link = await (this.#options.daemon ? connect(this.#options) : startPrivate(this.#options));
    const listeners = this.#listeners; // the link must not refer to the client
    link.onEvent = (event) => {
      for (const listener of listeners)
        listener(event);
    };
    if (this.#closed) {
      await link.close(REQUEST_MS);
      throw new KillickError(Code.CLOSED, 'the client was closed');
    }
    forgotten.unregister(this);
    forgotten.register(this, link, this);
    this.#link = link;
    return link;
  }
}
