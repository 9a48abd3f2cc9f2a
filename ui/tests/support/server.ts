import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const REPOSITORY = resolve(import.meta.dirname, "../../..");
const VENV = join(REPOSITORY, ".venv/bin/python");
export const PYTHON = process.env.PYTHON ?? (existsSync(VENV) ? VENV : "python3");
export const FLOWS = resolve(import.meta.dirname, "../workflows/flows.py");

/** Returns an address on which nothing listens. */
export async function freeAddress(): Promise<string> {
  const listener = createServer();
  await new Promise<void>((done) => listener.listen(0, "127.0.0.1", done));
  const { port } = listener.address() as AddressInfo;
  await new Promise((done) => listener.close(done));
  return `tcp://127.0.0.1:${port}`;
}

/** Ends a process: it is asked first, and killed if it does not end. */
async function ended(process: ChildProcess): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return;
  const exit = new Promise((done) => process.once("exit", done));
  process.kill("SIGTERM");
  const timer = setTimeout(() => process.kill("SIGKILL"), 15_000);
  await exit;
  clearTimeout(timer);
}

/** A real server on a database and a port of its own; it can be stopped and started again. */
export class TurnoutServer {
  readonly folder = mkdtempSync(join(tmpdir(), "turnout-ui-"));
  private readonly extra: readonly string[];
  private readonly targets: readonly string[];
  private process: ChildProcess | null = null;
  private readonly workers: ChildProcess[] = [];
  url = "";
  /** The admin token of the first start. */
  token = "";

  constructor(targets: readonly string[] = [FLOWS], extra: readonly string[] = []) {
    this.targets = targets;
    this.extra = extra;
  }

  get database(): string {
    return `sqlite:///${this.folder}/turnout.db`;
  }

  async start(): Promise<void> {
    const port = this.url ? new URL(this.url).port : "0";
    const fixed = ["-m", "turnout", "server", "--json", "--quiet", "--port", port, "--database", this.database];
    const started = spawn(PYTHON, [...fixed, ...this.extra, ...this.targets], {
      cwd: this.folder,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.process = started;
    const said: string[] = [];
    started.stderr.on("data", (data) => said.push(String(data)));
    const line = await new Promise<string>((done, failed) => {
      createInterface({ input: started.stdout }).once("line", done);
      started.once("exit", (code) => failed(new Error(`the server ended with ${code}: ${said.join("")}`)));
    });
    this.url = JSON.parse(line).url;
    this.token ||= readFileSync(join(this.folder, "turnout-admin-token"), "utf8").trim();
  }

  /** Writes a file into the folder of the server, such as its configuration, before it starts. */
  write(name: string, text: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, text);
    return path;
  }

  /** Starts a worker that connects to a hub at this address; it ends with the server. */
  startWorker(hub: string, ...options: string[]): void {
    const command = ["-m", "turnout", "worker", "--connect", hub, "--import", FLOWS, "--quiet", ...options];
    this.workers.push(spawn(PYTHON, command, { cwd: this.folder, stdio: "ignore" }));
  }

  async stop(): Promise<void> {
    const running = this.process;
    this.process = null;
    await Promise.all([...this.workers.splice(0), ...(running ? [running] : [])].map(ended));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Runs a command of turnout on the database of the server, and returns what it prints. */
  turnout(...command: string[]): string {
    return execFileSync(PYTHON, ["-m", "turnout", ...command, "--database", this.database], {
      cwd: this.folder,
      encoding: "utf8",
    }).trim();
  }

  /** Calls the API as an admin; a text is sent as it is. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
  async call(method: string, path: string, body?: unknown): Promise<any> {
    const answer = await fetch(this.url + path, {
      method,
      headers: { Authorization: `Bearer ${this.token}`, "Content-Type": "application/json" },
      body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.status === 204 ? null : await answer.json();
  }

  /** Stores a workflow file; `condition` says over which version. */
  async put(name: string, text: string, condition: Record<string, string> = { "If-None-Match": "*" }): Promise<void> {
    const answer = await fetch(`${this.url}/api/v1/workflows/${name}`, {
      method: "PUT",
      headers: { Authorization: `Bearer ${this.token}`, "Content-Type": "application/yaml", ...condition },
      body: text,
    });
    if (!answer.ok) throw new Error(`PUT ${name}: ${answer.status} ${await answer.text()}`);
  }

  /** Starts a run; with `wait`, returns once it has ended. */
  async run(workflow: string, input: Record<string, unknown> = {}, wait = false): Promise<string> {
    const started = await this.call("POST", `/api/v1/runs${wait ? "?wait=30" : ""}`, { workflow, input });
    return started.run.id;
  }
}
