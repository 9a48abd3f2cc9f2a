import { join } from "node:path";
import { expect, expectTextOnly, HOSTILE, pictures, test } from "./support/test.ts";

/* A run while it goes on, and its rerun: what moves, what is sent, and what a viewer turns on and off. */

const LARGE = "9007199254740993";

test("numbers keep all of their digits, shown and sent", async ({ page, server }) => {
  const body = `{"workflow": "ledger", "input": {"order": {"id": ${LARGE}, "x": 1}}}`;
  const { run } = await server.call("POST", "/api/v1/runs?wait=30", body);
  await page.goto(`/runs/${run.id}?tab=values`);
  await expect(page.getByRole("button", { name: new RegExp(`^Input .*${LARGE}`) })).toBeVisible();
  await expect(page.getByRole("region", { name: "Input" }).last()).toContainText(`"id": ${LARGE}`);
  await expect(page.getByRole("region", { name: "Result" }).last()).toContainText(LARGE);
  await page.getByRole("button", { name: "Rerun" }).click();
  const field = page.getByRole("dialog").getByLabel("Input");
  await expect(field).toHaveValue(new RegExp(`"id": ${LARGE},`));
  await field.fill((await field.inputValue()).replace('"x": 1', '"x": 2'));
  await page.getByRole("dialog").getByRole("button", { name: "Rerun", exact: true }).click();
  await expect(page).not.toHaveURL(new RegExp(run.id));
  await expect(page.getByRole("region", { name: "Input" }).last()).toContainText(`"id": ${LARGE}`);
  await expect(page.getByRole("region", { name: "Input" }).last()).toContainText('"x": 2');
  await expect(page.getByRole("region", { name: "Result" }).last()).toContainText(LARGE);
});

test("a rerun is not started by the preview of another input", async ({ page, server }) => {
  const id = await server.run("fulfil", { order: "P-1", fail: true }, true);
  await page.goto(`/runs/${id}`);
  await page.getByRole("button", { name: "Rerun" }).click();
  const dialog = page.getByRole("dialog");
  const start = dialog.getByRole("button", { name: "Rerun", exact: true });
  await expect(start).toBeEnabled();
  let release = () => {};
  const held = new Promise<void>((done) => {
    release = done;
  });
  await page.route("**/rerun/preview", async (route) => {
    await held;
    await route.continue();
  });
  await dialog.getByLabel("Input").fill('{"order": "P-2"}');
  await expect(start).toBeDisabled();
  await expect(dialog).toContainText("parameters that you leave out keep their values");
  release();
  await expect(dialog.getByRole("region", { name: "What the rerun does" })).toContainText("3 tasks run again");
  await expect(start).toBeEnabled();
});

test("marks of the direction in an input are escapes in the field of a rerun", async ({ page, server }) => {
  const id = await server.run("hostile", { text: HOSTILE }, true);
  await page.goto(`/runs/${id}`);
  await page.getByRole("button", { name: "Rerun" }).click();
  await expect(page.getByRole("dialog").getByLabel("Input")).toHaveValue(/\\u202egpj\.exe\\u2066/);
  await expect(page.getByRole("region", { name: "What the rerun does" })).toContainText("1 task run again");
  await expectTextOnly(page);
  await pictures(page, "run-rerun");
});

test("the table of tasks has the progress of a task while it runs", async ({ page, server }) => {
  const gate = join(server.folder, "step");
  const id = await server.run("ascent", { gate });
  await page.goto(`/runs/${id}?tab=tasks`);
  const row = page.getByRole("table", { name: "Tasks" }).getByRole("row").filter({ hasText: "climb" });
  const bar = row.getByRole("progressbar", { name: "Progress" });
  await expect(bar).toHaveAttribute("aria-valuenow", "25");
  await expect(row).toContainText("1 of 4 steps");
  for (const [step, share] of [
    [0, "50"],
    [1, "75"],
  ] as const) {
    server.write(`step-${step}`, "");
    await expect(bar).toHaveAttribute("aria-valuenow", share);
  }
  await pictures(page, "run-progress");
  server.write("step-2", "");
  server.write("step-3", "");
  await expect(row).toContainText("completed");
  await expect(bar).toHaveCount(0);
});

test("the table of tasks follows a run by its moves", async ({ page, server }) => {
  const [first, second] = [join(server.folder, "first"), join(server.folder, "second")];
  const id = await server.run("relay", { first, second });
  await page.goto(`/runs/${id}?tab=tasks`);
  const rows = page.getByRole("table", { name: "Tasks" }).getByRole("row");
  await expect(rows.filter({ hasText: /^hold/ })).toContainText("running");
  await expect(rows.filter({ hasText: /^hand_over/ })).toContainText("pending");
  // Neither the list nor the open tasks are read again: what the moves say is all that the table gets.
  await page.route(`**/api/v1/runs/${id}/tasks?*`, (route) => route.abort());
  server.write("first", "");
  await expect(rows.filter({ hasText: /^hold/ })).toContainText("completed");
  await expect(rows.filter({ hasText: /^hand_over/ })).toHaveText(/running.*default executor.*default/);
  server.write("second", "");
});

test("every attempt has its bar in the timeline, and its traceback in the panel", async ({ page, server }) => {
  const id = await server.run("visit", {}, true);
  await page.goto(`/runs/${id}?tab=timeline`);
  const row = page
    .getByRole("list", { name: "Timeline" })
    .getByRole("listitem")
    .filter({ hasText: /^knock/ });
  await expect(row.getByTitle(/^attempt \d, at /)).toHaveCount(2);
  await expect(row.getByTitle(/^attempt 1, at .*ConnectionError/)).toBeVisible();
  await expect(row.getByTitle(/^attempt 2, at .*completed/)).toBeVisible();
  await row.getByRole("button", { name: /^knock/ }).click();
  const attempts = page.getByRole("complementary", { name: "knock" }).getByRole("region", { name: "Attempts" });
  await expect(attempts.getByRole("listitem")).toHaveCount(2);
  await attempts.getByRole("button", { name: "Traceback of attempt 1" }).click();
  await expect(attempts.getByRole("region", { name: "Traceback of attempt 1" })).toContainText("ConnectionError");
  await pictures(page, "run-attempts");
});

test("the wheel zooms the timeline, and not the page around it", async ({ page, server }) => {
  const id = await server.run("fulfil", {}, true);
  await page.goto(`/runs/${id}?tab=timeline`);
  const list = page.getByRole("list", { name: "Timeline" });
  await list.hover();
  await page.evaluate(() => {
    addEventListener("wheel", (event) => Object.assign(globalThis, { prevented: event.defaultPrevented }));
  });
  await page.mouse.wheel(0, 10);
  await expect.poll(() => page.evaluate(() => (globalThis as { prevented?: boolean }).prevented)).toBe(false);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -100);
  await page.keyboard.up("Control");
  await expect(page.getByRole("button", { name: "Zoom out" })).toBeEnabled();
  expect(await page.evaluate(() => (globalThis as { prevented?: boolean }).prevented)).toBe(true);
});

test("a log is followed while it is scrolled to its end only", async ({ page, server }) => {
  const id = await server.run("ascent", { gate: join(server.folder, "path") });
  await page.goto(`/runs/${id}?task=climb&view=logs`);
  const log = page.getByRole("region", { name: "Log" });
  const follow = page.getByRole("button", { name: "Follow" });
  const line = (text: string) => log.getByText(text, { exact: true });
  await expect(line("step 0, metre 99")).toBeVisible();
  await expect(follow).toHaveAttribute("aria-pressed", "true");

  // As the bar of the scroller, or a finger, does it.
  await log.evaluate((element) => element.scrollTo({ top: 0 }));
  await expect(follow).toHaveAttribute("aria-pressed", "false");
  server.write("path-0", "");
  await expect(page.getByRole("progressbar", { name: "Progress" }).first()).toHaveAttribute("aria-valuenow", "50");
  await expect(line("step 0, metre 0")).toBeVisible();
  await expect(line("step 1, metre 99")).toHaveCount(0);

  await log.evaluate((element) => element.scrollTo({ top: element.scrollHeight }));
  await expect(follow).toHaveAttribute("aria-pressed", "true");
  server.write("path-1", "");
  await expect(line("step 2, metre 99")).toBeVisible();
  await follow.click();
  await expect(follow).toHaveAttribute("aria-pressed", "false");
  for (const step of [2, 3]) server.write(`path-${step}`, "");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("completed");
});

test("a resumed run says which tasks start", async ({ page, server }) => {
  const id = await server.run("gated", { gate: join(server.folder, "resumed") });
  await page.goto(`/runs/${id}`);
  const title = page.getByRole("heading", { level: 1 });
  await expect(title).toContainText("running");
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByRole("button", { name: "Pause the run" }).click();
  await expect(title).toContainText("paused");
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("1 task starts as soon as it can: ship.");
  await expect(dialog).toContainText("The results of 0 completed tasks stay: none runs again.");
  await page.getByRole("button", { name: "Resume the run" }).click();
  await expect(title).toContainText("running");
  server.write("resumed", "");
  await expect(title).toContainText("completed");
});
