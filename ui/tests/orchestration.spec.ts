import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { FLOWS, PYTHON, TurnoutServer } from "./support/server.ts";
import {
  test as base,
  expect,
  expectAccessible,
  picture,
  pictures,
  signIn,
  type Theme,
  useTheme,
} from "./support/test.ts";

const HOSTILE = "<img src=x onerror=alert(1)>";

/** A server with a hub, and a worker that is connected to it. */
const test = base.extend<object, { server: TurnoutServer }>({
  server: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern
    async ({}, use) => {
      const server = new TurnoutServer([FLOWS], ["--hub", "tcp://127.0.0.1:0"]);
      await server.start();
      const worker = await connected(server);
      for (const order of ["A-1", "A-2"]) await server.run("fulfil", { order }, true);
      await use(server);
      worker.kill("SIGTERM");
      await server.stop();
      server.remove();
    },
    { scope: "worker", timeout: 180_000 },
  ],
});

async function connected(server: TurnoutServer): Promise<ChildProcess> {
  const { orchestrators } = await server.call("GET", "/api/v1/orchestration");
  const options = ["--connect", orchestrators[0].hub, "--import", FLOWS, "--name", "cpu-1", "--quiet"];
  const labels = ["--label", "gpu=none", "--label", `note=${HOSTILE}`];
  const worker = spawn(PYTHON, ["-m", "turnout", "worker", ...options, ...labels], {
    cwd: server.folder,
    stdio: "ignore",
  });
  await expect
    .poll(async () => (await server.call("GET", "/api/v1/workers")).workers.length, { timeout: 120_000 })
    .toBe(1);
  return worker;
}

for (const theme of ["light", "dark"] as Theme[]) {
  test(`pools, charts, events and the database are shown in the ${theme} theme`, async ({ page }) => {
    test.setTimeout(300_000);
    await useTheme(page, theme);
    await page.goto("/orchestration");
    const pools = page.getByRole("list", { name: "Pools" });
    for (const pool of ["Submission", "Claims", "Starts", "Results", "Ends"]) {
      await expect(pools.getByRole("listitem", { name: pool })).toContainText(/\d+\s*executors?, /);
    }
    for (const chart of ["Size of the pools", "Utilisation", "Queued", "Database saturation and backpressure"]) {
      await expect(page.getByRole("img", { name: new RegExp(`^${chart}: .*\\d`) }).locator("canvas")).toBeVisible();
    }
    await expect(page.getByRole("region", { name: "Database and backpressure" })).toContainText("in use");
    await expect(page.getByRole("list", { name: "Breakers" })).toContainText("pools, executors and workers");
    await page.getByRole("button", { name: "Every executor" }).click();
    const executors = page.getByRole("table", { name: "Stage executors" });
    await expect(executors.getByRole("row").nth(5)).toContainText(/healthy|degraded/);
    await expectAccessible(page);
    await page.screenshot({ path: `screenshots/orchestration-${theme}.png`, fullPage: true });
  });

  test(`workers and the tasks that none of them matches are shown in the ${theme} theme`, async ({ page, server }) => {
    test.setTimeout(300_000);
    const id = await server.run("training");
    await useTheme(page, theme);
    await page.goto("/workers");
    await expect(page.getByText(/1 worker connected to 1 hub: tcp:/)).toBeVisible();
    const row = page.getByRole("table", { name: "Workers" }).getByRole("row").nth(1);
    await expect(row).toContainText("cpu-1");
    await expect(row).toContainText("python");
    await expect(row).toContainText(HOSTILE);
    const waits = page.getByRole("region", { name: "Tasks that no worker matches" });
    await expect(waits).toContainText("The nearest worker, cpu-1, lacks gpu=a100 (it has none).");
    await expect(waits).toContainText("--label 'gpu=a100'");
    await row.getByRole("button").click();
    const panel = page.getByRole("complementary", { name: "cpu-1" });
    await expect(panel).toContainText("Nothing: it waits for work.");
    await expectAccessible(page);
    await picture(page, `workers-full-${theme}`);
    await server.call("POST", `/api/v1/runs/${id}/cancel`, {});
  });
}

test("a task on a worker is among what the worker holds, and its attempt says where it runs and why", async ({
  page,
  server,
}) => {
  const gate = join(server.folder, "carried");
  const id = await server.run("delivery", { gate });
  await page.goto("/workers");
  await page.getByRole("table", { name: "Workers" }).getByRole("button", { name: /cpu-1/ }).click();
  const held = page.getByRole("complementary", { name: "cpu-1" }).getByRole("region", { name: "What it holds" });
  await expect(held.getByRole("listitem")).toHaveText(/delivery · carry/);
  await picture(page, "workers-holding-light");
  await held.getByRole("link", { name: /delivery · carry/ }).click();
  await expect(page).toHaveURL(new RegExp(`${id}.*task=carry`));
  const attempt = page.getByRole("region", { name: "Attempts" }).getByRole("listitem");
  const known = (await server.call("GET", `/api/v1/runs/${id}/tasks/carry`)).attempts[0];
  expect(known).toMatchObject({ executor: "workers", worker: "cpu-1", decision: expect.stringMatching(/\w/) });
  for (const words of ["#1", "running", "workers", "cpu-1", known.decision]) await expect(attempt).toContainText(words);
  await pictures(page, "run-on-worker");
  server.write("carried", "");
  await expect(attempt).toContainText("completed");
});

test("a viewer cannot drain, an operator drains with a reason", async ({ page, server, context }) => {
  const made = await server.call("POST", "/api/v1/tokens", { name: "visitor", role: "viewer" });
  await context.clearCookies();
  await signIn(page, server, made.secret);
  await page.goto("/workers");
  const worker = page.getByRole("table", { name: "Workers" }).getByRole("button", { name: /cpu-1/ });
  await worker.click();
  await expect(page.getByText("Draining needs the role operator.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Drain" })).toBeDisabled();
  await signIn(page, server);
  await page.reload();
  await page.getByRole("button", { name: "Drain" }).click();
  await page.getByLabel("Reason").fill("new kernel");
  await page.getByRole("dialog").getByRole("button", { name: "Drain" }).click();
  await expect(page.getByText("cpu-1 drains")).toBeVisible();
});

test("with two servers on a database the charts say of which they are", async ({ page, server }) => {
  const second = new TurnoutServer([FLOWS], ["--database", server.database]);
  second.token = server.token;
  await second.start();
  try {
    await page.goto("/orchestration");
    const table = page.getByRole("table", { name: "Orchestrators" });
    await expect(table.getByRole("row")).toHaveCount(3);
    const here = table.getByRole("row").filter({ hasText: "here" });
    const name = /^(.*), (\d+)/.exec((await here.textContent()) ?? "")?.[0] ?? "";
    await expect(page.getByText(`${name}, last `).first()).toBeVisible();
    await table.getByRole("row").nth(2).click();
    await expect(page.getByText("keeps its history itself, and another server answers this page")).toBeVisible();
    await expectAccessible(page);
  } finally {
    await second.stop();
    second.remove();
  }
});

test("a phone shows the orchestration page without sideways scrolling", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 780 });
  await page.goto("/orchestration");
  await expect(page.getByRole("list", { name: "Pools" })).toBeVisible();
  await expect(page.getByRole("img", { name: /^Utilisation/ })).toBeAttached();
  await page.screenshot({ path: "screenshots/phone-orchestration-light.png", fullPage: true });
  expect(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)).toBe(false);
});

test("a run tells how it was started, with a link", async ({ page, server }) => {
  const id = await server.run("fulfil", { order: "A-9" }, true);
  const again = (await server.call("POST", `/api/v1/runs/${id}/rerun`, { from_task: "ship" })).run.id;
  await page.goto(`/runs/${again}`);
  await expect(page.getByText(`started by a rerun of ${id.slice(-8)}`)).toBeVisible();
  await page.getByRole("link", { name: id.slice(-8) }).click();
  await expect(page.getByText(/started by the API, token first/)).toBeVisible();
  await page.goto("/runs");
  const row = page
    .getByRole("row")
    .filter({ hasText: again.slice(-8) })
    .filter({ hasText: "rerun of" });
  await expect(row.getByRole("link", { name: id.slice(-8) })).toBeVisible();
});
