import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { FLOWS, TurnoutServer } from "./support/server.ts";
import { test as base, expect, expectAccessible, picture, pictures, signIn } from "./support/test.ts";

const NIGHTLY = `description: Counts what came in over night
schedule:
  - name: nightly
    cron: "30 2 * * *"
  - name: afternoon
    cron: "30 14 * * *"
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

test.use({ locale: "en-US", timezoneId: "UTC" });

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
  const rows = page.getByRole("table", { name: "Decisions" }).getByRole("row").filter({ hasNotText: "afternoon" });
  await expect(rows.getByText("fired")).toHaveCount(2);
});

test("the calendar has the due times of each day, and leads to their workflow", async ({ page }) => {
  await page.goto("/schedules");
  const tomorrow = page
    .getByRole("listitem")
    .filter({ hasText: /^\w{3}, \w{3} \d+/ })
    .first();
  await expect(tomorrow.getByRole("link", { name: "02:30 AM nightly" })).toBeVisible();
  await expect(tomorrow.getByRole("link", { name: "02:30 PM nightly" })).toBeVisible();
  await pictures(page, "schedules-calendar");
  await tomorrow.getByRole("link", { name: "02:30 AM nightly" }).click();
  await expect(page).toHaveURL(/\/workflows\/.*nightly\?tab=schedules/);
  await expect(page.getByRole("table", { name: "Schedules" }).getByRole("row")).toHaveCount(3);
});

test("a schedule that is fired leads to its run, and to a decision with its reason", async ({ page }) => {
  await page.goto("/schedules");
  await page.getByRole("button", { name: "Fire afternoon of nightly now" }).click();
  await expect(page.getByText("afternoon was fired")).toBeVisible();
  await expect(page).toHaveURL(/\/runs\/[0-9a-f-]{36}/);
  const id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  await expect(page.getByText(/started by .*afternoon/)).toBeVisible();
  await page.goto("/schedules");
  const row = page
    .getByRole("table", { name: "Decisions" })
    .getByRole("row")
    .filter({ hasText: id.slice(-8) });
  await expect(row).toContainText("nightly afternoon");
  await expect(row).toContainText("fired");
});

test("a limit has its holder and its queue, and a run that waits for it names it", async ({ page, server }) => {
  const gate = join(server.folder, "vault");
  const holder = await server.run("guarded", { gate });
  await expect.poll(async () => (await server.call("GET", `/api/v1/runs/${holder}`)).state).toBe("running");
  const waiter = await server.run("guarded", { gate });
  await page.goto(`/runs/${waiter}`);
  await expect(page.getByText("waits for the limit vault, position 1")).toBeVisible();
  await pictures(page, "run-limit");
  await page.getByRole("tab", { name: "Timeline" }).click();
  await expect(page.getByText("Nothing has begun. Choose a task to see what it waits for.")).toBeVisible();
  await pictures(page, "run-limit-timeline");
  await page.getByRole("link", { name: "vault" }).click();
  await expect(page).toHaveURL(/\/limits\?task=vault/);
  const panel = page.getByRole("complementary", { name: "vault" });
  await expect(panel.getByRole("region", { name: "Holders" }).getByRole("listitem")).toHaveText(
    new RegExp(`guarded.*${holder.slice(-8)}`),
  );
  await expect(panel.getByRole("region", { name: "Waiting" }).getByRole("listitem")).toHaveText(
    new RegExp(`1\\..*guarded.*${waiter.slice(-8)}`),
  );
  await pictures(page, "limits-panel");
  server.write("vault", "");
  await expect(panel).toContainText("Nothing waits for it.");
});

test("schedules beyond the first page are shown on demand, and in the page of their workflow", async ({ page }) => {
  const many = new TurnoutServer();
  const entries = Array.from({ length: 100 }, (_, index) => `  - {name: s${index}, cron: "${index % 60} 3 1 1 *"}`);
  const busy = `schedule:\n${entries.join("\n")}\nsteps:\n  - {name: count, command: echo counted}\n`;
  const files = { "busy-1.yaml": busy, "busy-2.yaml": busy, "nightly.yaml": NIGHTLY };
  const server = new TurnoutServer(Object.entries(files).map(([name, text]) => many.write(name, text)));
  try {
    await server.start();
    await signIn(page, server);
    await page.goto(`${server.url}/schedules`);
    const rows = page.getByRole("table", { name: "Schedules" }).getByRole("row");
    await expect(rows).toHaveCount(201);
    await expect(page.getByText("No due time has come yet")).toBeVisible();
    await expect(page.getByText("Fire now starts a run at once")).toBeVisible();
    await page.getByRole("button", { name: "Show more schedules" }).click();
    await expect(rows).toHaveCount(203);
    await expect(page.getByRole("button", { name: "Pause nightly of nightly" })).toBeVisible();
    await page.goto(`${server.url}/workflows/nightly?tab=schedules`);
    await expect(rows).toHaveCount(3);
  } finally {
    await server.stop();
    server.remove();
    many.remove();
  }
});
