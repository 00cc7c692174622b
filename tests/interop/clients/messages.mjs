// messages.mjs - stands in for the model of Claude Code: as much of the Messages API as the client
// needs, on loopback.
//
// Scripts are those of ../codex/model.mjs: a list of steps, { server, tool, arguments } to
// have a tool of an MCP server called, or { say } to end the turn. The number of tool results in a
// request chooses the step, so a repeated request gets the same answer.
import { once } from "node:events";
import { createServer } from "node:http";

const USAGE = { input_tokens: 1, output_tokens: 1 };

function blockOf(step, tools, id) {
	const name = `mcp__${step?.server}__${step?.tool}`;
	if (step?.tool && tools.some((tool) => tool.name === name))
		return { type: "tool_use", id: `toolu_${id}`, name, input: step.arguments ?? {} };
	return { type: "text", text: step?.tool ? `there is no tool ${name}` : step?.say ?? "" };
}

// The block as its start and its one delta.
function partsOf(block) {
	if (block.type === "text")
		return [{ ...block, text: "" }, { type: "text_delta", text: block.text }];
	const partial_json = JSON.stringify(block.input);
	return [{ ...block, input: {} }, { type: "input_json_delta", partial_json }];
}

function textOf({ content }) {
	return typeof content === "string" ? content : content.map((part) => part.text).join("\n");
}

export class Messages {
	constructor(script) {
		this.script = script;
		this.results = []; // what the tools answered, as the model was told
		this.turns = 0; // requests that were answered
		this.server = createServer((request, response) => {
			this.serve(request, response).catch((e) => response.destroy(e));
		});
	}

	async open() {
		this.server.listen(0, "127.0.0.1");
		await once(this.server, "listening");
		return `http://127.0.0.1:${this.server.address().port}`;
	}

	close() {
		this.server.closeAllConnections();
		this.server.close();
	}

	path = /^\/v1\/messages(\?|$)/;

	async serve(request, response) {
		const parts = [];
		for await (const part of request)
			parts.push(part);
		if (request.method !== "POST" || !this.path.test(request.url)) {
			response.writeHead(404).end("{}");
			return;
		}
		this.take(JSON.parse(Buffer.concat(parts).toString()), response);
		this.turns++;
	}

	take(body, response) {
		const blocks = body.messages.flatMap(({ content }) =>
			Array.isArray(content) ? content : []);
		this.results = blocks.filter((c) => c.type === "tool_result").map(textOf);
		const step = this.results.length;
		this.answer(body, blockOf(this.script[step], body.tools ?? [], step), response);
	}

	answer({ model, stream }, block, response) {
		const stop_reason = block.type === "tool_use" ? "tool_use" : "end_turn";
		const message = {
			id: "msg_1", type: "message", role: "assistant", model, content: [],
			stop_reason: null, stop_sequence: null, usage: USAGE,
		};
		if (!stream) {
			response.writeHead(200, { "content-type": "application/json" });
			response.end(JSON.stringify({ ...message, content: [block], stop_reason }));
			return;
		}
		const [content_block, delta] = partsOf(block);
		const say = (type, more) => response.write(
			`event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`);
		response.writeHead(200, { "content-type": "text/event-stream" });
		say("message_start", { message });
		say("content_block_start", { index: 0, content_block });
		say("content_block_delta", { index: 0, delta });
		say("content_block_stop", { index: 0 });
		say("message_delta", { delta: { stop_reason, stop_sequence: null }, usage: USAGE });
		say("message_stop");
		response.end();
	}
}
