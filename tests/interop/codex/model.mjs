// model.mjs - stands in for the model: as much of the Responses API as codex needs, on loopback.
//
// A script is a list of steps, { server, tool, arguments } to have a tool called (without server:
// one of codex's own; with `input`, a text, in place of arguments: one without a schema) or { say }
// to end the turn. Which step it is follows from the results that
// the request holds, so a request that is made again gets the same answer.
import { once } from "node:events";
import { createServer } from "node:http";

const USAGE = {
	input_tokens: 1, input_tokens_details: null, output_tokens: 1, output_tokens_details: null,
	total_tokens: 2,
};

// How codex names the tool of an MCP server: in a namespace, or in one word.
function nameOf(tools, { server, tool }) {
	if (!server)
		return tools.some((t) => t.name === tool) ? { name: tool } : null;
	const namespace = `mcp__${server}`;
	if (tools.find((t) => t.name === namespace)?.tools?.some((t) => t.name === tool))
		return { namespace, name: tool };
	if (tools.some((t) => t.name === `${namespace}__${tool}`))
		return { name: `${namespace}__${tool}` };
	return null;
}

function answerOf(step, request, id) {
	const name = step?.tool ? nameOf(request.tools, step) : null;
	if (name && step.input)
		return {
			type: "custom_tool_call", id: `ctc_${id}`, call_id: `call_${id}`, ...name,
			status: "completed", input: step.input,
		};
	if (name)
		return {
			type: "function_call", id: `fc_${id}`, call_id: `call_${id}`, ...name,
			status: "completed", arguments: JSON.stringify(step.arguments ?? {}),
		};
	const text = step?.tool ? `there is no tool ${step.tool}` : step?.say ?? "";
	return {
		type: "message", id: `msg_${id}`, role: "assistant", status: "completed",
		content: [{ type: "output_text", text, annotations: [] }],
	};
}

function textOf(output) {
	return typeof output === "string" ? output : output.map((part) => part.text).join("\n");
}

export class Model {
	// onResult(n, text), which may be async, is told of each result before the model goes on.
	constructor(script, onResult = () => {}) {
		this.script = script;
		this.results = []; // what the tools answered, as the model was told
		this.turns = 0; // requests that were answered
		this.asked = ""; // the last request
		this.onResult = onResult;
		this.server = createServer((request, response) => {
			this.serve(request, response).catch((e) => response.destroy(e));
		});
	}

	async open() {
		this.server.listen(0, "127.0.0.1");
		await once(this.server, "listening");
		return `http://127.0.0.1:${this.server.address().port}/v1`;
	}

	close() {
		this.server.closeAllConnections();
		this.server.close();
	}

	async serve(request, response) {
		const parts = [];
		for await (const part of request)
			parts.push(part);
		if (request.method !== "POST" || request.url !== "/v1/responses") {
			response.writeHead(404).end("{}");
			return;
		}
		this.asked = Buffer.concat(parts).toString();
		const body = JSON.parse(this.asked);
		const outputs = body.input.filter((item) =>
			["function_call_output", "custom_tool_call_output"].includes(item.type));
		this.results = outputs.map((item) => textOf(item.output));
		if (outputs.length)
			await this.onResult(outputs.length, this.results.at(-1));

		const id = `resp_${outputs.length}`;
		const item = answerOf(this.script[outputs.length], body, id);
		const say = (type, more) => response.write(
			`event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`);
		response.writeHead(200, { "content-type": "text/event-stream" });
		say("response.created", { response: { id } });
		say("response.output_item.done", { output_index: 0, item });
		say("response.completed", { response: { id, usage: USAGE } });
		response.end();
		this.turns++;
	}
}
