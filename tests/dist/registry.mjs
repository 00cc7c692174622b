// registry.mjs - an npm registry on loopback that has the packages of one directory and no others.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

function readPackages(dir) {
	return readdirSync(dir).filter((file) => file.endsWith(".tgz")).map((file) => {
		const path = join(dir, file);
		const text = execFileSync("tar", ["-xzOf", path, "package/package.json"]);
		const integrity = `sha512-${createHash("sha512").update(readFileSync(path)).digest("base64")}`;
		return { file, path, integrity, manifest: JSON.parse(text) };
	});
}

// What a registry says of a package (its "packument").
function describe({ file, integrity, manifest }, url) {
	const dist = { tarball: `${url}/-/${file}`, integrity };
	return {
		name: manifest.name,
		"dist-tags": { latest: manifest.version },
		versions: { [manifest.version]: { ...manifest, dist } },
	};
}

// Returns { url, asked, close }; asked lists the paths that were asked for.
export async function openRegistry(dir) {
	const packages = readPackages(dir);
	const asked = [];
	let url;
	const server = createServer((request, response) => {
		const path = decodeURIComponent(request.url);
		asked.push(path);
		const byFile = packages.find((p) => path === `/-/${p.file}`);
		const byName = packages.find((p) => path === `/${p.manifest.name}`);
		if (byFile)
			response.end(readFileSync(byFile.path));
		else if (byName)
			response.end(JSON.stringify(describe(byName, url)));
		else
			response.writeHead(404).end("{}");
	});
	await new Promise((done) => server.listen(0, "127.0.0.1", done));
	url = `http://127.0.0.1:${server.address().port}`;
	return { url, asked, close: () => server.close() };
}
