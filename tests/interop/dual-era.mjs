// dual-era.mjs - a server on the SDK that speaks both eras of the protocol and checks what it gets.
//
// Tools: echo, progress, wait (until cancelled), ask (elicitation, sampling or roots), log, touch
// (a change of the resource and of the list of tools).
import { McpServer, completable, inputRequired } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const text = (value) => ({ content: [{ type: "text", text: String(value) }] });

const QUESTIONS = {
	elicitation: () => inputRequired.elicit({
		message: "Your name?",
		requestedSchema: {
			type: "object", properties: { name: { type: "string" } }, required: ["name"],
		},
	}),
	sampling: () => inputRequired.createMessage({
		messages: [{ role: "user", content: { type: "text", text: "hi" } }], maxTokens: 5,
	}),
	roots: () => inputRequired.listRoots(),
};

async function progress({ n }, ctx) {
	const token = ctx.mcpReq._meta?.progressToken;
	for (let i = 1; token !== undefined && i <= n; i++)
		await ctx.mcpReq.notify({
			method: "notifications/progress",
			params: { progressToken: token, progress: i, total: n, message: `step ${i}` },
		});
	return text("done");
}

function wait(_args, ctx) {
	return new Promise((_, fail) => {
		ctx.mcpReq.signal.addEventListener("abort", () => {
			console.error("dual-era: cancelled");
			fail(new Error("cancelled"));
		});
	});
}

function ask({ kind }, ctx) {
	const given = ctx.mcpReq.inputResponses?.answer;
	if (given)
		return { ...text("answered"), structuredContent: { answer: given } };
	return inputRequired({ inputRequests: { answer: QUESTIONS[kind]() }, requestState: kind });
}

function make() {
	const server = new McpServer({ name: "dual-era", version: "1.0.0" }, {
		capabilities: {
			tools: { listChanged: true }, logging: {}, prompts: {}, completions: {},
			resources: { subscribe: true, listChanged: true },
		},
		instructions: "Either way.",
	});

	server.registerTool("echo", { inputSchema: z.object({ text: z.string() }) },
		(args) => text(args.text));
	server.registerTool("progress", { inputSchema: z.object({ n: z.number() }) }, progress);
	server.registerTool("wait", { inputSchema: z.object({}) }, wait);
	server.registerTool("ask", {
		inputSchema: z.object({ kind: z.enum(["elicitation", "sampling", "roots"]) }),
	}, ask);
	server.registerTool("log", { inputSchema: z.object({}) }, async (_args, ctx) => {
		await ctx.mcpReq.log("info", "from dual-era");
		return text("logged");
	});
	server.registerTool("touch", { inputSchema: z.object({}) }, async () => {
		await server.server.sendResourceUpdated({ uri: "dual://note" });
		server.sendToolListChanged();
		return text("touched");
	});
	server.registerResource("note", "dual://note", {}, (uri) =>
		({ contents: [{ uri: uri.href, text: "a note" }] }));
	server.registerPrompt("greet", {
		argsSchema: z.object({ who: completable(z.string(), () => ["alice", "bob"]) }),
	}, ({ who }) => ({
		messages: [{ role: "user", content: { type: "text", text: `hello ${who}` } }],
	}));
	// the older era's way to subscribe is not the SDK's affair
	for (const method of ["resources/subscribe", "resources/unsubscribe"])
		server.server.setRequestHandler(method, () => ({}));
	return server;
}

serveStdio(make, { onerror: (error) => console.error(`dual-era: ${error.message}`) });
