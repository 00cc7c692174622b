// contents.mjs - stands in for the model of Gemini CLI: streamGenerateContent of the Gemini API, on
// loopback, with the scripts of messages.mjs.
import { Messages } from "./messages.mjs";

export class Contents extends Messages {
	path = /:streamGenerateContent(\?|$)/;

	take({ contents, tools = [] }, response) {
		this.results = contents
			.flatMap(({ parts = [] }) => parts)
			.filter(({ functionResponse }) => functionResponse)
			.map(({ functionResponse }) => JSON.stringify(functionResponse.response));
		const step = this.script[this.results.length];
		const name = `mcp_${step?.server}_${step?.tool}`;
		const known = tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations)
			.some((tool) => tool.name === name);
		const part = known ? { functionCall: { name, args: step.arguments } }
			: { text: step?.say ?? `there is no tool ${name}` };
		const body = {
			candidates: [{
				index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP",
			}],
			usageMetadata: {
				promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2,
			},
		};
		response.writeHead(200, { "content-type": "text/event-stream" });
		response.end(`data: ${JSON.stringify(body)}\n\n`);
	}
}
