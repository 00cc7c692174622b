// tap.mjs - results on stdout, as TAP.
let count = 0;
let failed = 0;

export function result(ok, name, detail) {
	count++;
	failed += ok ? 0 : 1;
	console.log(`${ok ? "ok" : "not ok"} ${count} - ${name}`);
	if (detail)
		console.log(`# ${detail}`);
}

export function skip(name, why) {
	count++;
	console.log(`ok ${count} - ${name} # SKIP ${why}`);
}

export function bailOut(why, status) {
	console.log(`Bail out! ${why}`);
	process.exit(status);
}

export function skipAll(why) {
	console.log(`1..0 # SKIP ${why}`);
	process.exit(0);
}

export function finish() {
	console.log(`1..${count}`);
	process.exitCode = failed ? 1 : 0;
}
