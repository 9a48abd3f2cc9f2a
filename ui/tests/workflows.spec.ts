import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { FLOWS, TurnoutServer } from "./support/server.ts";
import { test as base, expect, expectAccessible, picture } from "./support/test.ts";

const SHAPES = resolve(import.meta.dirname, "workflows/shapes.py");
const FIRST = `name: weekly
description: Builds the weekly report
tags: [finance, weekly]
schedule:
  - name: monday
    cron: "0 6 * * 1"
    timezone: Europe/Berlin
params:
  - name: REGION
    enum: [eu, us]
    default: eu
steps:
  - name: collect
    command: echo collected
  - name: render
    command: echo rendered
    depends: [collect]
`;
const SECOND = `${FIRST}  - name: mail
    command: echo mailed
    depends: [render]
`;

const test = base.extend<object, { server: TurnoutServer }>({
  server: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern
    async ({}, use) => {
      const server = new TurnoutServer([FLOWS, SHAPES]);
      writeFileSync(join(server.folder, "turnout.toml"), "[server]\nallow_local_execution = true\n");
      await server.start();
      await server.put("weekly", FIRST);
      await server.run("weekly", {}, true);
      await server.put("weekly", SECOND, { "If-Match": '"1"' });
      await server.run("weekly", {}, true);
      for (const fail of [false, true, false, false]) await server.run("fulfil", { fail }, true);
      await use(server);
      await server.stop();
      server.remove();
    },
    { scope: "worker" },
  ],
});

test("the list is filtered by text and tag, in the address", async ({ page }) => {
  await page.goto("/workflows");
  await page.getByPlaceholder("Name or description").fill("week");
  await expect(page).toHaveURL(/q=week/);
  await expect(page.getByRole("link", { name: "fulfil" })).toHaveCount(0);
  await page.getByTitle("Only those with the tag finance").click();
  await expect(page).toHaveURL(/finance/);
  await page.getByPlaceholder("Name or description").fill("nothing like it");
  await page.getByRole("button", { name: "Clear the filter" }).click();
  await expect(page.getByRole("link", { name: "fulfil" })).toBeVisible();
});

test("a run is started by keyboard; the form and the server say what is wrong at its field", async ({ page }) => {
  await page.goto("/workflows/report");
  await expect(page.getByRole("heading", { name: "report" })).toBeVisible();
  await page.keyboard.press("s");
  const title = page.getByLabel(/^title/);
  await title.focus();
  await page.keyboard.press("Enter");
  await expect(page.getByText("A value is needed.")).toBeVisible();
  await expect(title).toBeFocused();
  await page.keyboard.type("Figures");
  await page.getByLabel(/^options/).fill('{"depth": "deep"}');
  await title.press("Enter");
  await expect(page.getByText(/parameter 'options' of workflow 'report' must be/)).toBeVisible();
  await expectAccessible(page);
  await picture(page, "workflow-start-refused-light");
  await page.getByLabel(/^options/).fill('{"depth": 2}');
  await page.getByLabel(/^region/).selectOption("us");
  await title.press("Enter");
  await expect(page).toHaveURL(/\/runs\/[0-9a-f-]+/);
});

test("the history shows a matrix of tasks and runs", async ({ page }) => {
  await page.goto("/workflows/fulfil?tab=history");
  const matrix = page.getByRole("region", { name: "Tasks by run" }).first();
  await expect(matrix.getByRole("link", { name: /^charge failed/ })).toHaveCount(1);
  await expect(matrix.getByRole("link", { name: /^ship completed/ })).toHaveCount(3);
  await picture(page, "workflow-matrix-light");
});

test("versions show what changed in the graph and in the text", async ({ page }) => {
  await page.goto("/workflows/weekly?tab=versions");
  await expect(page.getByRole("list", { name: "Changes" })).toContainText("mail");
  await page.getByRole("table", { name: "Texts" }).getByRole("button", { name: /^2/ }).click();
  await expect(page.getByRole("region", { name: "What version 2 changed" })).toContainText("echo mailed");
  await expect(page).toHaveURL(/text=2/);
  await page.reload();
  await expect(page.getByRole("region", { name: "What version 2 changed" })).toContainText("echo mailed");
});

test("an edit shows findings at their lines, and never overwrites a version that came in between", async ({
  page,
  server,
}) => {
  await page.goto("/workflows/weekly?tab=source");
  const editor = page.getByRole("textbox", { name: "Source of weekly" });
  await editor.click();
  await page.keyboard.press("ControlOrMeta+End");
  await page.keyboard.type("colour: red");
  await expect(page.getByRole("list", { name: "Findings" })).toContainText("unknown_key");
  await picture(page, "workflow-source-findings-light");
  await page.getByRole("button", { name: "Discard" }).click();
  await editor.click();
  await page.keyboard.press("ControlOrMeta+Home");
  await page.keyboard.type("# mine\n");
  await server.put("weekly", `# theirs\n${SECOND}`, { "If-Match": '"2"' });
  await page.getByRole("button", { name: "Save" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("Nothing was saved");
  await expect(dialog.getByRole("region", { name: /Your text/ })).toContainText("# theirs");
  await picture(page, "workflow-stale-edit-light");
  expect((await server.call("GET", "/api/v1/workflows/weekly")).version).toBe(3);
  await dialog.getByRole("button", { name: "Keep editing mine" }).click();
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Version 4 of weekly is in force")).toBeVisible();
});
