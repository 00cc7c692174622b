// server.mjs TAG - an MCP server by the official SDK that keeps running when its input ends, as many do: it has a timer.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const LIFE_MS = 60_000;

setTimeout(() => process.exit(0), LIFE_MS);
const server = new Server({ name: 'deaf', version: '1' }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, async () => ({
  tools: [{ name: 'nothing', inputSchema: { type: 'object' } }],
}));
await server.connect(new StdioServerTransport());
