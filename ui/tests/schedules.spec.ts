import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { FLOWS, TurnoutServer } from "./support/server.ts";
import { test as base, expect, expectAccessible, picture } from "./support/test.ts";

const NIGHTLY = `description: Counts what came in over night
schedule:
  - name: nightly
    cron: "30 2 * * *"
steps:
  - name: count
    command: echo counted
    limit: {name: warehouse, at_most: 1}
`;

const test = base.extend<object, { server: TurnoutServer }>({
  server: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern
    async ({}, use) => {
      const folder = new TurnoutServer();
      const file = resolve(join(folder.folder, "nightly.yaml"));
      writeFileSync(file, NIGHTLY);
      const server = new TurnoutServer([FLOWS, file]);
      await server.start();
      await use(server);
      await server.stop();
      server.remove();
      folder.remove();
    },
    { scope: "worker" },
  ],
});

test("a file that the server was started with shows its text", async ({ page }) => {
  await page.goto("/workflows/nightly?tab=source");
  await expect(page.getByText("read only: the server was started with this file")).toBeVisible();
  await expect(page.getByLabel("Source of nightly")).toContainText("Counts what came in over night");
});

test("a schedule is paused, resumed and backfilled after a preview", async ({ page }) => {
  await page.goto("/schedules");
  await page.getByRole("button", { name: "Pause nightly of nightly" }).click();
  await page.getByRole("button", { name: "Resume nightly of nightly" }).click();
  await page.getByRole("button", { name: "Backfill nightly of nightly" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("From").fill("2026-11-10T00:00");
  await dialog.getByLabel("Until").fill("2026-11-12T00:00");
  await dialog.getByRole("button", { name: "Preview" }).click();
  await expect(dialog.getByRole("list", { name: "Due times" }).getByRole("listitem")).toHaveCount(2);
  await expectAccessible(page);
  await picture(page, "schedules-backfill-light");
  await dialog.getByRole("button", { name: "Start 2 runs" }).click();
  await expect(page.getByRole("table", { name: "Decisions" }).getByText("fired")).toHaveCount(2);
});
