#!/usr/bin/env node
// A server as one finds them behind npx: the SDK, and a helper process that it forgets about. Both
// live 60 s at most.
import { spawn } from "node:child_process";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";

const life = 60000;
const helper = ["-e", `setTimeout(() => {}, ${life})`];

spawn(process.execPath, helper, { detached: true, stdio: "ignore" }).unref();
setTimeout(() => process.exit(0), life).unref();

const server = new McpServer({ name: "killick-interop-server", version: "0.0.0" });
server.registerTool("hang", { description: "Never answers" }, () => new Promise(() => {}));
await server.connect(new StdioServerTransport());
