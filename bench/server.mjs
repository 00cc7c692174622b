// The same echo server as echo.c, as a node program: the picture with a real runtime's start in it.
import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => process.stdout.write(line + "\n"));
lines.on("close", () => process.exit(0));
