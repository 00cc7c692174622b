/**
 * Sessions with MCP servers that end with their session. See README.md. An option that a function does not have is
 * refused with a TypeError.
 */

/** Numbers of KillickError.code. An error that an MCP server answered has the number that the server gave it. */
export const Code: {
  /** Wrong use of this package. */
  readonly USAGE: -1;
  /** The session or the client was closed, or the hub ended. */
  readonly CLOSED: -6;
  /** A wait was over, in the server, the hub or this package. */
  readonly TIMEOUT: -7;
  /** An answer of the hub has the wrong shape. */
  readonly PROTOCOL: -10;
  /** No hub could be started, and the like. */
  readonly SYSTEM: -12;
  readonly HUB_FAILED: -32000;
  /** No such session or server. */
  readonly HUB_NOT_FOUND: -32001;
  readonly HUB_NO_METHOD: -32601;
  readonly HUB_BAD_PARAMS: -32602;
};

/** A request failed. `message` is a sentence: the thing, the reason, the next step. */
export class KillickError extends Error {
  constructor(code: number, message: string, data?: unknown);
  readonly name: 'KillickError';
  readonly code: number;
  readonly data?: unknown;
  /** Why a request to a server failed: "timeout", "exited", "closed", "busy", ...; undefined: the code says it all. */
  readonly reason?: string;
}

export interface ClientOptions {
  /** false: a private hub, a child of this process, in place of the hub of the user. Default: true, on Windows false. */
  daemon?: boolean;
  /** The socket of the hub. Default: the socket of this user's hub, which is started if no hub runs. */
  socket?: string;
  /** The program `killick`. Default: $KILLICK, else the one in PATH. */
  program?: string;
  /** The time for connecting, including the start of a hub. Default: 20000. */
  connectTimeoutMs?: number;
}

/** How long to wait for an answer of the hub, and a signal that ends the wait. */
export interface WaitOptions {
  /** Milliseconds. Default: 60000; for createSession and refresh 600000, for listTools 3600000. */
  timeoutMs?: number;
  /** When it is aborted, the promise is rejected with its reason. */
  signal?: AbortSignal;
}

/** The servers of a session: mcpServers or config. */
export interface ConfigOptions extends WaitOptions {
  /** The servers, as in a config (killick-config(5)). */
  mcpServers?: Record<string, object>;
  /** The path of a config. */
  config?: string;
  /** Executors that servers can be placed on. */
  environments?: Record<string, object>;
  /** Variables that ${VAR} is taken from and that servers inherit. Default: those of this process. */
  env?: Record<string, string | undefined>;
  /** The directory of servers whose config names none. Default: that of this process. */
  cwd?: string;
}

/**
 * Answers a question of a server (elicitation/create, sampling/createMessage, roots/list) with the result of MCP. An
 * exception becomes an error for the server. The signal is aborted when the server withdraws the question.
 */
export type Answerer = (server: string, params: Record<string, unknown>, options: { signal: AbortSignal }) =>
  object | Promise<object>;

/**
 * Gets a notification of a server, with the params of MCP. An exception is a rejection that is not handled, and does not
 * end the session.
 */
export type Listener = (server: string, params: Record<string, unknown>) => unknown;

export interface SessionOptions extends ConfigOptions {
  /** Shown by `killick hub sessions`. */
  tag?: string;
  /** Milliseconds that the session stays without use. Default: the session ends with its client. */
  lease?: number;
  /** Answer the questions of servers. Only what has a function is declared to servers. */
  onElicitation?: Answerer;
  onSampling?: Answerer;
  onRoots?: Answerer;
  /** Gets log messages (notifications/message). The request "logging/setLevel" chooses their level. */
  onLog?: Listener;
  /** This list of the session has changed. */
  onListChanged?: (list: 'tools' | 'prompts' | 'resources') => unknown;
  /** Gets the changes of resources (notifications/resources/updated) after a request of "resources/subscribe". */
  onResourceUpdated?: Listener;
  /** "settled" (default): wait until each server is ready or failed; "required": only for required servers. */
  wait?: 'settled' | 'required';
}

export interface CallOptions extends WaitOptions {
  /** Call the tool by the name that this server gave it. Default: names as in listTools. */
  server?: string;
  /** Milliseconds. Default: the config of the server decides. */
  timeoutMs?: number;
  /** Gets the progress of this call (notifications/progress): progress, total, message. All of it comes before the result. */
  onProgress?: Listener;
}

export interface Tool {
  name: string;
  description?: string;
  inputSchema: object;
  [member: string]: unknown;
}

/** A failure that the tool reports is a result with isError. */
export interface CallToolResult {
  content: Array<{ type: string; text?: string; [member: string]: unknown }>;
  structuredContent?: object;
  isError?: boolean;
  [member: string]: unknown;
}

export interface ServerState {
  name: string;
  state: string;
  error?: string;
  tools?: number;
}

/** How a server ended (struct killick_ending in killick.h). */
export interface Ending {
  server: string;
  pid: number;
  why: string;
  step: string;
  proof: string[];
  survivors: number;
  [member: string]: unknown;
}

export interface Report {
  session: string;
  ended: Ending[];
  /** Servers that other sessions use. */
  kept: Array<{ server: string; [member: string]: unknown }>;
  /** Processes that could not be killed. */
  survivors: number;
  /** Every ended server is proved gone, with every process that it started. */
  proved: boolean;
  ms: number;
}

/** How the servers ended that a refresh replaced. */
export interface RefreshReport extends Omit<Report, 'kept'> {
  /** The names of the servers that stayed as they were. */
  unchanged: string[];
  /** The new set. */
  servers: ServerState[];
}

/** A set of MCP servers. Made by Client.createSession; ends with disconnect(), or with its client. */
export class Session implements AsyncDisposable {
  private constructor();
  readonly id: string;
  readonly tag: string | null;
  /** The servers and their states when the session was created or refreshed. */
  readonly servers: ServerState[];
  readonly client: Client;
  /** The tools, with plain names if there is one server, else with qualified names. */
  listTools(options?: WaitOptions & { server?: string }): Promise<Tool[]>;
  callTool(name: string, args?: object, options?: CallOptions): Promise<CallToolResult>;
  /** Any other request of MCP, such as "resources/read". */
  request(method: string, params?: object, options?: CallOptions): Promise<Record<string, unknown>>;
  /** Replace the set of servers; unchanged servers keep running. Resolves when the others are proved gone. */
  refresh(options: ConfigOptions): Promise<RefreshReport>;
  /** Use the session, so that its lease begins again. */
  renew(options?: { timeoutMs?: number }): Promise<void>;
  /** End the session. Resolves when its servers are proved gone. A second disconnect has the same report. */
  disconnect(options?: { timeoutMs?: number }): Promise<Report>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * A connection to a hub. The sessions of a client end with the client, also when its process is killed. Calls may be made
 * at the same time; they share the connection.
 */
export class Client implements AsyncDisposable {
  /** Connects at the first request. Client.open connects at once. */
  constructor(options?: ClientOptions);
  static open(options?: ClientOptions): Promise<Client>;
  createSession(options: SessionOptions): Promise<Session>;
  /** A session that has a lease and was created by another client. */
  session(id: string): Promise<Session>;
  /** Any request of the control API (killick-hub(7)), such as "hub.status". */
  request(method: string, params?: object, options?: WaitOptions): Promise<Record<string, unknown>>;
  /** Events of the hub, until the connection ends. When the iterator is not read, old events are dropped. */
  events(names?: Iterable<string>): AsyncGenerator<Record<string, unknown>, void, void>;
  /** End every session that has no lease, wait until their servers are proved gone, and disconnect. */
  close(options?: { timeoutMs?: number }): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
