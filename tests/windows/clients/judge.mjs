// judge.mjs - questions to tests/windows/judge, by lines on standard output and input.
import { randomBytes } from "node:crypto";
import { createInterface } from "node:readline";
import { pause } from "../../interop/codex/child.mjs";

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

export const newTag = () => `kc${randomBytes(8).toString("hex")}`;
// The variable that Wine hands on to Linux, where the judge finds the tag.
export const tagged = (tag) => ({ WINEDEBUG: `-all,-${tag}` });

// "count", or "scrub" to kill them first. { count, text }
export async function ask(word, tag) {
	console.log(`?${word} ${tag}`);
	const { value } = await answers.next();
	return { count: parseInt(value, 10), text: value };
}

// What is left, when at most that many are or at the deadline.
export async function leftOf(tag, ms, most = 0) {
	const deadline = performance.now() + ms;
	for (;;) {
		const left = await ask("count", tag);
		if (left.count <= most || performance.now() > deadline)
			return left;
		await pause(50);
	}
}
