// Prints how much script the first load takes, gzipped: the scripts that the page itself names, and what they import.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const BUDGET = 250_000;
const folder = new URL("../../src/turnout/server/static/ui/", import.meta.url);
const page = readFileSync(new URL("index.html", folder), "utf8");
const waiting = [...page.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.js)"/g)].map((found) => found[1]);
const sizes = new Map();

while (waiting.length > 0) {
  const name = waiting.pop();
  if (sizes.has(name)) continue;
  const content = readFileSync(new URL(name, folder), "utf8");
  sizes.set(name, gzipSync(content, { level: 9 }).length);
  for (const found of content.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)) waiting.push(`assets/${found[1]}`);
}

const total = [...sizes.values()].reduce((sum, each) => sum + each, 0);
console.log(JSON.stringify({ first_load_gzip_bytes: total, budget: BUDGET, files: Object.fromEntries(sizes) }));
process.exit(total > BUDGET ? 1 : 0);
