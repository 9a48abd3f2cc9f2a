// Writes src/api/schema.d.ts from the OpenAPI document that `turnout schema --api` prints; --check compares only.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";

const target = new URL("../src/api/schema.d.ts", import.meta.url);
const venv = fileURLToPath(new URL("../../.venv/bin/python", import.meta.url));
const python = process.env.PYTHON ?? (existsSync(venv) ? venv : "python3");
const printed = execFileSync(python, ["-m", "turnout", "schema", "--api"], { encoding: "utf8", maxBuffer: 64 << 20 });
const document = JSON.parse(printed);
document.info.version = ""; // a release alone changes no type

const head = "// Written by `npm run client` from the OpenAPI document of the server.\n\n";
const options = { alphabetize: true, defaultNonNullable: false };
const wanted = head + astToString(await openapiTS(document, options));

if (process.argv.includes("--check")) {
  const found = existsSync(target) ? readFileSync(target, "utf8") : "";
  if (found !== wanted) {
    console.error("src/api/schema.d.ts does not fit the API: run `npm run client` in ui/ and commit what it writes");
    process.exit(1);
  }
} else {
  writeFileSync(target, wanted);
}
