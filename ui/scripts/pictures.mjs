// Takes the pictures of the documentation: the real page in Debian's Chromium, with the runs of `turnout demo --web`.
// `node scripts/pictures.mjs [name …]` writes those that are named, else all, to docs/images.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { chromium, expect } from "@playwright/test";

const CHROMIUM = process.env.TURNOUT_CHROMIUM ?? "/usr/bin/chromium";
const REPOSITORY = resolve(import.meta.dirname, "../..");
const VENV = join(REPOSITORY, ".venv/bin/python");
const PYTHON = process.env.PYTHON ?? (existsSync(VENV) ? VENV : "python3");
const FOLDER = join(REPOSITORY, "docs/images");
const SIZE = { width: 1280, height: 800 };
const MOST_BYTES = 150_000;
/** Home lists a wait once it is longer than usual: two minutes where nothing is known. */
const PATIENCE = 300_000;

/** The pictures by name: theme, address, and what has to be seen before one is taken. */
const PICTURES = {
  run: ["dark", (runs) => `/runs/${runs.failed}?task=charge`, (page) => page.getByText("permanent_failure")],
  waiting: ["light", (runs) => `/runs/${runs.waiting}?task=engrave`, (page) => page.getByText("What ends it:").first()],
  timeline: ["dark", (runs) => `/runs/${runs.retried}?tab=timeline`, (page) => page.getByText("critical path").first()],
  rerun: ["light", (runs) => `/runs/${runs.failed}`, (page) => page.getByText("results reused").first(), openRerun],
  dispatch: ["dark", () => "/dispatch", (page) => page.getByText("printers").first()],
  home: ["light", () => "/", (page) => page.getByText("engrave of gift has waited")],
};

async function openRerun(page) {
  await page.getByRole("button", { name: "Rerun", exact: true }).click();
}

/** Starts the demo, and returns it with the addresses that it prints once its runs are there. */
async function startDemo() {
  const options = ["demo", "--web", "--stay", "--port", "0", "--json"];
  const demo = spawn(PYTHON, ["-m", "turnout", ...options], { stdio: ["ignore", "pipe", "inherit"] });
  const line = await new Promise((done, failed) => {
    createInterface({ input: demo.stdout }).once("line", done);
    demo.once("exit", (code) => failed(new Error(`the demo ended with ${code}`)));
  });
  return { demo, ...JSON.parse(line) };
}

/** Returns the ids of the runs that the pictures show. */
async function runsOf(page, url) {
  const answer = await page.request.get(`${url}/api/v1/runs?limit=100`);
  const { runs } = await answer.json();
  const find = (name, state) => runs.findLast((run) => run.workflow.endsWith(`::${name}`) && run.state === state).id;
  return { failed: find("fulfil", "failed"), retried: find("fulfil", "completed"), waiting: find("gift", "running") };
}

async function takePicture(page, url, runs, name) {
  const [theme, path, seen, act] = PICTURES[name];
  await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
  await page.goto(url + path(runs));
  await act?.(page);
  await expect(seen(page)).toBeVisible({ timeout: PATIENCE });
  await expect(page.locator(".skeleton")).toHaveCount(0, { timeout: PATIENCE });
  await expect(page.getByTestId("connection").first()).toHaveText("Live", { timeout: PATIENCE });
  const file = join(FOLDER, `${name}-${theme}.png`);
  await page.screenshot({ path: file });
  const bytes = statSync(file).size;
  console.log(`${file}: ${bytes} bytes`);
  if (bytes > MOST_BYTES) throw new Error(`${name} has more than ${MOST_BYTES} bytes`);
}

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(PICTURES);
const unknown = names.filter((name) => !(name in PICTURES));
if (unknown.length > 0 || !existsSync(CHROMIUM)) {
  const problem =
    unknown.length > 0 ? `there is no picture ${unknown.join(", ")}` : `there is no Chromium at ${CHROMIUM}`;
  console.error(`no pictures are taken: ${problem} (pictures: ${Object.keys(PICTURES).join(", ")})`);
  process.exit(1);
}
mkdirSync(FOLDER, { recursive: true });
const { demo, url, link } = await startDemo();
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const page = await browser.newPage({ viewport: SIZE });
  await page.goto(link);
  await expect(page.getByRole("heading", { name: "Home" })).toBeVisible({ timeout: PATIENCE });
  const runs = await runsOf(page, url);
  for (const name of names) await takePicture(page, url, runs, name);
} finally {
  await browser.close();
  demo.kill("SIGTERM");
  await new Promise((done) => demo.once("exit", done));
}
