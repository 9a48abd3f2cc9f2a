import { readFileSync } from "node:fs";
import { join } from "node:path";
import { FLOWS, TurnoutServer } from "./support/server.ts";
import { expect, expectAccessible, picture, pictures, signIn, test } from "./support/test.ts";

const runs: Record<string, string> = {};

test.beforeAll(async ({ server }) => {
  runs.failed = await server.run("fulfil", { order: "B-1", fail: true }, true);
  runs.mapped = await server.run("pricing", { count: 12 }, true);
  runs.bundle = await server.run("bundle", {}, true);
  runs.chatty = await server.run("chatty", {}, true);
});

test("the graph leads to a task with its error, attempts and executor", async ({ page }) => {
  await page.goto(`/runs/${runs.failed}`);
  await page.getByRole("button", { name: /^charge/ }).click();
  const panel = page.getByRole("complementary", { name: "charge" });
  await expect(panel.getByRole("region", { name: "Error" })).toContainText("the card of Ada was declined");
  await expect(panel.getByRole("region", { name: "Traceback" })).toContainText("ValueError");
  await expect(panel.getByRole("region", { name: "Attempts" })).toContainText("#1");
  const input = panel.getByRole("region", { name: "Input" }).first();
  await input.getByRole("button", { name: /^fetch/ }).click();
  await expect(panel.getByRole("region", { name: "Result of fetch" })).toContainText("Ada");
  await input.getByRole("button", { name: /^run/ }).click();
  await expect(panel.getByRole("region", { name: "Input" }).last()).toContainText("B-1");
  await expect(page).toHaveURL(/task=charge/);
  await page.keyboard.press("Escape");
  await expect(panel).toHaveCount(0);
});

test("the header has input and result in one line, which lead to the whole", async ({ page, server }) => {
  const id = await server.run("fulfil", { order: "H-1" }, true);
  await page.goto(`/runs/${id}`);
  await expect(page.getByRole("button", { name: /^Input .*"order":"H-1"/ })).toBeVisible();
  const result = page.getByRole("button", { name: /^Result .*shipped, charged H-1/ });
  await expect(result).toBeVisible();
  await expectAccessible(page);
  await result.click();
  await expect(page).toHaveURL(/tab=values/);
  await expect(page.getByRole("region", { name: "Result" }).last()).toContainText("shipped, charged H-1");
});

test("the timeline has a bar for every attempt, and zooms", async ({ page }) => {
  await page.goto(`/runs/${runs.failed}?tab=timeline`);
  const rows = page.getByRole("list", { name: "Timeline" }).getByRole("listitem");
  await expect(rows.filter({ hasText: /^charge/ }).getByTitle(/^attempt 1, at default, /)).toBeVisible();
  await expect(rows.filter({ hasText: /^charge/ }).getByText(", on the critical path")).toBeAttached();
  await expect(page.getByRole("button", { name: "Zoom out" })).toBeDisabled();
  await page.getByRole("button", { name: "Zoom in" }).click();
  await expect(page.getByRole("button", { name: "Zoom out" })).toBeEnabled();
  await page.getByRole("button", { name: "Show all" }).click();
  await expect(page.getByRole("button", { name: "Zoom out" })).toBeDisabled();
});

test("each attempt of a retried task has its queue time apart from its run time", async ({ page, server }) => {
  const id = await server.run("insistent", {}, true);
  await page.goto(`/runs/${id}?tab=timeline`);
  const row = page.getByRole("list", { name: "Timeline" }).getByRole("listitem").filter({ hasText: /^dial/ });
  for (const attempt of [1, 2, 3]) {
    await expect(row.getByTitle(new RegExp(`^attempt ${attempt}, on its way to default`))).toHaveCount(1);
    await expect(row.getByTitle(new RegExp(`^attempt ${attempt}, at default, `))).toHaveCount(1);
  }
  await pictures(page, "run-timeline-retries");
});

test("what is chosen in a run is in its address", async ({ page }) => {
  await page.goto(`/runs/${runs.mapped}?tab=timeline`);
  await page.getByRole("button", { name: "Items of price" }).click();
  await expect(page).toHaveURL(/group=price/);
  await page.reload();
  await expect(page.getByRole("button", { name: "Items of price" })).toBeVisible();
  await page.getByRole("tab", { name: /Tasks/ }).click();
  await page.getByLabel("Filter tasks").fill("price[4]");
  await expect(page).toHaveURL(/q=price/);
  await page.reload();
  await expect(page.getByLabel("Filter tasks")).toHaveValue("price[4]");
  await page.goto(`/runs/${runs.chatty}?task=shout&view=logs`);
  await page.getByLabel("Search the log").fill("line 3");
  await expect(page).toHaveURL(/find=line/);
  await page.reload();
  await expect(page.getByLabel("Search the log")).toHaveValue("line 3");
  await expect(page.getByText("1 line", { exact: true })).toBeVisible();
});

test("a log is wrapped or not, and downloaded with all of its lines", async ({ page, server }) => {
  const id = await server.run("chatty", { lines: 1_200 }, true);
  await page.goto(`/runs/${id}?task=shout&view=logs`);
  const wrap = page.getByRole("button", { name: "Wrap" });
  await wrap.click();
  await expect(wrap).toHaveAttribute("aria-pressed", "false");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download the log" }).click(),
  ]);
  const text = readFileSync(await download.path(), "utf8");
  expect(text.split("\n").filter((line) => / line \d+$/.test(line))).toHaveLength(1_200);
});

test("a task that waits says why, and what would end it; the list of runs names it", async ({ page }) => {
  const hub = new TurnoutServer([FLOWS], ["--hub", "tcp://127.0.0.1:0"]);
  await hub.start();
  try {
    const id = await hub.run("training");
    await signIn(page, hub);
    await page.goto(`${hub.url}/runs/${id}?task=train`);
    const panel = page.getByRole("complementary", { name: "train" });
    await expect(panel).toContainText("Why it waits");
    await expect(panel).toContainText("What ends it:");
    await expect(panel).toContainText(/gpu/);
    await expectAccessible(page);
    await picture(page, "run-waiting-light");
    await page.goto(`${hub.url}/runs`);
    const row = page.getByRole("table", { name: "Runs" }).getByRole("row").nth(1);
    await expect(row).toContainText("train waits: no_worker_matches{gpu=a100}");
    await picture(page, "runs-waiting-light");
  } finally {
    await hub.stop();
    hub.remove();
  }
});

test("a run inside of a task opens in place", async ({ page }) => {
  await page.goto(`/runs/${runs.bundle}`);
  await page.getByRole("button", { name: "Open the run of fulfil here" }).click();
  await expect(page.getByRole("button", { name: /^charge/ })).toBeVisible();
  await picture(page, "run-child-light");
  await page.getByRole("button", { name: /^charge/ }).click();
  await expect(page).toHaveURL(/task=charge/);
  await expect(page).not.toHaveURL(new RegExp(runs.bundle ?? ""));
});

test("the run of each item of a mapped task opens in place", async ({ page, server }) => {
  const id = await server.run("bundles", {}, true);
  await page.goto(`/runs/${id}`);
  await page.getByRole("button", { name: "Open the run of fulfil here" }).click();
  await expect(page.getByText("[1] of 3")).toBeVisible();
  await expect(page.getByRole("button", { name: /^charge.*failed/ })).toBeVisible();
  await expectAccessible(page);
  await pictures(page, "run-item-child");
  await page.getByRole("button", { name: "Next item" }).click();
  await expect(page.getByRole("button", { name: /^ship.*completed/ })).toBeVisible();
  await expect(page.getByRole("button", { name: "Next item" })).toBeDisabled();
  await page.getByRole("button", { name: /^charge/ }).click();
  await expect(page).toHaveURL(/task=charge/);
  await expect(page.getByRole("button", { name: /^Input .*"order":"D-2"/ })).toBeVisible();
});

test("a mapped task is one node with counts, and its items are rows by state", async ({ page }) => {
  await page.goto(`/runs/${runs.mapped}`);
  await expect(page.getByRole("button", { name: /^price.*11.*completed/ })).toBeVisible();
  await page.getByRole("tab", { name: /Tasks/ }).click();
  const table = page.getByRole("table", { name: "Tasks" });
  await expect(table.getByRole("row").nth(1)).toContainText("failed");
  await page.getByLabel("Filter tasks").fill("price[3]");
  await expect(table.getByRole("button", { name: "price[3]" })).toBeVisible();
  await table.getByRole("button", { name: "price[3]" }).click();
  const panel = page.getByRole("complementary", { name: "price[3]" });
  await expect(panel).toContainText("order 3 has no price");
  await panel.getByRole("button", { name: /^price\[3\] what it is called with/ }).click();
  await expect(panel.getByRole("region", { name: "Input of price[3]" })).toContainText(/"args": \[\s*3\s*\]/);
  await pictures(page, "run-item-input");
  await panel.getByRole("button", { name: "Rerun from here" }).click();
  const preview = page.getByRole("region", { name: "What the rerun does" });
  await expect(preview.getByRole("listitem").filter({ hasText: /^price/ })).toContainText("12 items");
  await page.getByRole("dialog").getByLabel("Start").selectOption("orders");
  await expect(preview.getByRole("listitem").filter({ hasText: /^price/ })).toContainText("12 items before");
  await pictures(page, "run-rerun-items");
});

test("what a log and an output contain is text, with colours only", async ({ page }) => {
  await page.goto(`/runs/${runs.chatty}?task=shout&view=logs`);
  const log = page.getByRole("region", { name: "Log" });
  await expect(log).toContainText("<img src=x onerror=alert(1)>");
  await expect(log).toContainText("\\x1b]8;;https://example.org");
  await expect(log).toContainText("⟨U+202E⟩gpj.exe");
  await expect(log.getByText("red", { exact: true })).toHaveClass(/text-bad/);
  await expect(log.locator("img, a")).toHaveCount(0);
  await page.getByLabel("Search the log").fill("line 3");
  await expect(page.getByText("1 line", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Next error" }).click();
  await expect(log.locator("[aria-current=true]")).toContainText("ValueError: not a real one");
  await page.getByRole("tab", { name: "Output" }).click();
  await expect(page.getByRole("region", { name: "Output" })).toContainText("<script>alert(1)</script>");
});

test("a log is followed while it is written, with the progress of its task", async ({ page, server }) => {
  const id = await server.run("chatty", { lines: 40, pause: 0.15 });
  await page.goto(`/runs/${id}?task=shout&view=logs`);
  const log = page.getByRole("region", { name: "Log" });
  await expect(log).toContainText("line 5");
  await expect(log).toContainText("line 39", { timeout: 30_000 });
  await expect(page.getByRole("heading", { level: 1 })).toContainText("completed");
});

test("a log is followed from a run into its rerun", async ({ page, server }) => {
  const id = await server.run("chatty", { lines: 3 }, true);
  await page.goto(`/runs/${id}?task=shout&view=logs`);
  const log = page.getByRole("region", { name: "Log" });
  await expect(log).toContainText("line 2");
  await page.getByRole("complementary", { name: "shout" }).getByRole("button", { name: "Rerun from here" }).click();
  const dialog = page.getByRole("dialog", { name: "Rerun from shout" });
  await dialog.getByLabel("Input").fill(JSON.stringify({ lines: 25, gate: join(server.folder, "lines") }));
  await expect(dialog.getByRole("region", { name: "What the rerun does" })).toContainText("1 task run again");
  await dialog.getByRole("button", { name: "Rerun", exact: true }).click();
  await expect(page).not.toHaveURL(new RegExp(id));
  await expect(page).toHaveURL(/task=shout&view=logs/);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("running");
  await expect(log).toContainText("line 0");
  await expect(log).not.toContainText("line 1");
  server.write("lines", "");
  await expect(log).toContainText("line 24");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("completed");
  await expect(log.getByText("line 24", { exact: true })).toHaveCount(1);
});

test("a run is paused, resumed and cancelled, each after saying what it does", async ({ page, server }) => {
  const id = await server.run("sleepy");
  await page.goto(`/runs/${id}`);
  const title = page.getByRole("heading", { level: 1 });
  await expect(title).toContainText("running");
  await page.getByRole("button", { name: "Pause" }).click();
  await expect(page.getByRole("dialog")).toContainText("1 task that runs goes on to its end: nap.");
  await page.getByRole("button", { name: "Pause the run" }).click();
  await expect(title).toContainText("paused");
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Resume the run" }).click();
  await expect(title).toContainText("running");
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await expect(page.getByRole("dialog")).toContainText("1 task that runs is stopped: nap.");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Cancel the run" }).click();
  await expect(title).toContainText("cancelled");
});
