// Sessions with MCP servers that end with their session. README.md has an example; index.d.ts describes every function.
export { Client, Session } from './lib/client.js';
export { Code, KillickError } from './lib/error.js';
