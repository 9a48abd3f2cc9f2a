import { statSync } from "node:fs";
import type { Page } from "@playwright/test";
import { FLOWS, TurnoutServer } from "./support/server.ts";
import { test as base, expect, expectAccessible, picture } from "./support/test.ts";

const ITEMS = 10_000;

const test = base.extend<object, { server: TurnoutServer }>({
  server: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern
    async ({}, use) => {
      const server = new TurnoutServer([FLOWS]);
      server.write("turnout.toml", "max_output_bytes = 60_000_000\n");
      try {
        await server.start();
        await use(server);
      } finally {
        await server.stop();
        server.remove();
      }
    },
    { scope: "worker", timeout: 180_000 },
  ],
});

/** Returns how many rows of a list exist in the page: those in sight and a few more. */
async function rowsInPage(page: Page): Promise<number> {
  return await page.getByRole("table", { name: "Tasks" }).getByRole("row").count();
}

test("a run of 10,000 items is followed while it goes on, and only the rows in sight exist", async ({
  page,
  server,
}) => {
  const id = await server.run("pricing", { count: ITEMS });
  await page.goto(`/runs/${id}?tab=tasks`);
  await expect(page.getByRole("table", { name: "Tasks" })).toBeVisible();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("failed", { timeout: 120_000 });
  await expect(page.getByRole("status").filter({ hasText: /^10,003 tasks$/ })).toBeVisible({ timeout: 60_000 });
  await expect(page.getByText("10,000 completed").first()).toBeVisible();
  expect(await rowsInPage(page)).toBeLessThan(80);

  // By state, what failed first.
  const table = page.getByRole("table", { name: "Tasks" });
  await expect(table.getByRole("row").nth(1)).toContainText("failed");
  await expect(table.getByRole("button", { name: "price[3]", exact: true })).toBeVisible();

  // To the end and back by the keyboard and the wheel.
  const scroller = page.locator(":has(> [role=table])");
  await scroller.evaluate((element) => element.scrollTo({ top: element.scrollHeight }));
  await expect(table.getByRole("button", { name: `price[${ITEMS - 1}]`, exact: true })).toBeVisible();
  expect(await rowsInPage(page)).toBeLessThan(80);
  await page.getByLabel("Filter tasks").fill("price[7777]");
  await table.getByRole("button", { name: "price[7777]", exact: true }).click();
  await expect(page.getByRole("complementary", { name: "price[7777]" })).toContainText("completed");
  await expectAccessible(page);
  await picture(page, "run-large-tasks-light");

  // The mapped task is one node of the graph, and one row of the timeline, whose items are read as they are scrolled to.
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("tab", { name: "Graph" }).click();
  await expect(page.getByRole("button", { name: /^price.*9999 completed/ })).toBeVisible();
  await picture(page, "run-large-graph-light");
  const asked: string[] = [];
  page.on("request", (request) => request.url().includes("/timeline") && asked.push(request.url()));
  await page.getByRole("tab", { name: "Timeline" }).click();
  await page.getByRole("button", { name: "Items of price" }).click();
  const rows = page.getByRole("list", { name: "Timeline" }).getByRole("listitem");
  await expect(rows.filter({ hasText: /^price\[0\]$/ })).toBeVisible();
  await picture(page, "run-large-timeline-light");
  expect(asked.length).toBeLessThan(5);
  expect(await rows.count()).toBeLessThan(80);
});

test("a result of 50 MB is offered as a download, and only its beginning comes into the page", async ({
  page,
  server,
}) => {
  const id = await server.run("heavy", { megabytes: 50 }, true);
  let largest = 0;
  page.on("response", async (response) => {
    const length = Number(response.headers()["content-length"] ?? 0);
    if (response.request().resourceType() === "fetch") largest = Math.max(largest, length);
  });
  const whole: string[] = [];
  page.on("request", (request) => request.url().endsWith(`${id}/output`) && whole.push(request.url()));
  await page.goto(`/runs/${id}`);
  await expect(page.getByRole("button", { name: "Result up to 52.4 MB" })).toBeVisible();
  expect(whole, "the header does not read it").toEqual([]);
  for (const [path, region] of [
    [`/runs/${id}?tab=values`, "Result"],
    [`/runs/${id}?task=blob&view=output`, "Output"],
  ]) {
    await page.goto(path ?? "");
    await expect(page.getByText("The first 65.5 kB are shown.")).toBeVisible({ timeout: 60_000 });
    const shown = await page.getByRole("region", { name: region, exact: true }).last().textContent();
    expect(shown?.length).toBeLessThan(70_000);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download" }).click(),
    ]);
    expect(statSync(await download.path()).size).toBe(50 * 1_048_576 + 2);
  }
  await picture(page, "run-large-output-light");
  expect(largest).toBeLessThan(1_000_000);
});
