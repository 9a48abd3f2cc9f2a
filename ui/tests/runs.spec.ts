import { TurnoutServer } from "./support/server.ts";
import { test as base, expect, expectAccessible, picture, pictures, signIn } from "./support/test.ts";

const test = base.extend<{ tagged: TurnoutServer }>({
  /** A server with a run of a workflow that has tags, and one of a workflow without. */
  // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern
  tagged: async ({}, use) => {
    const server = new TurnoutServer();
    server.write("turnout.toml", "[server]\nallow_local_execution = true\n");
    try {
      await server.start();
      await server.put("tagged", "tags: [nightly, mail]\nsteps:\n  - {name: greet, command: echo hello}\n");
      await server.run("tagged", {}, true);
      await server.run("fulfil", {}, true);
      await use(server);
    } finally {
      await server.stop();
      server.remove();
    }
  },
});

test.beforeAll(async ({ server }) => {
  for (const order of ["A-1", "A-2"]) await server.run("fulfil", { order }, true);
  await server.run("fulfil", { order: "B-1", fail: true }, true);
  await server.run("fulfil", { order: "B-2", fail: true }, true);
  await server.run("training");
});

/** Returns how many runs failed: the files of one worker share a server. */
async function failedRuns(server: TurnoutServer): Promise<number> {
  return (await server.call("GET", "/api/v1/runs?state=failed&workflow=fulfil&limit=100")).runs.length;
}

test("the filter is in the address, and can be saved under a name", async ({ page, server }) => {
  const failed = await failedRuns(server);
  await page.goto("/runs");
  await page.getByRole("button", { name: "failed", exact: true }).click();
  await expect(page).toHaveURL(/state=.*failed/);
  const rows = page.getByRole("table", { name: "Runs" }).getByRole("row");
  await page.getByLabel("Workflow").selectOption({ label: "fulfil" });
  await expect(page).toHaveURL(/workflow=/);
  await expect(rows).toHaveCount(failed + 1);
  await page.getByRole("button", { name: "Filters" }).click();
  await page.getByRole("menuitem", { name: "Save this filter…" }).click();
  await page.getByLabel("Name").fill("Declined");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Clear" }).click();
  await expect(page).toHaveURL(/\/runs$/);
  await page.reload();
  await page.getByRole("button", { name: "Filters" }).click();
  await page.getByRole("menuitemradio", { name: "Declined" }).click();
  await expect(page).toHaveURL(/state=.*failed/);
  await expect(rows).toHaveCount(failed + 1);
});

test("runs are chosen by the time of their creation and by tags of their workflow", async ({ page, tagged }) => {
  await signIn(page, tagged);
  await page.goto(`${tagged.url}/runs`);
  const rows = page.getByRole("table", { name: "Runs" }).getByRole("row");
  await page.getByRole("button", { name: "Time and tags" }).click();
  await page.getByLabel("Tag", { exact: true }).selectOption("nightly");
  await expect(page).toHaveURL(/tag=.*nightly/);
  await expect(rows).toHaveCount(2);
  await page.getByLabel("Created from").fill("2020-01-01T00:00");
  await expect(page).toHaveURL(/from=\d+/);
  await expect(rows).toHaveCount(2);
  await page.getByLabel("Created before").fill("2020-01-02T00:00");
  await expect(page.getByText("No run fits this filter")).toBeVisible();
  await expectAccessible(page);
  await pictures(page, "runs-time-and-tags");
  await page.setViewportSize({ width: 390, height: 780 });
  await expect(page.getByLabel("Created before")).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await pictures(page, "phone-runs-time-and-tags");
  await page.getByLabel("Created before").fill("2019-01-01T00:00");
  await expect(page.getByText("This is not after the first time")).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("Created from")).toHaveValue("2020-01-01T00:00");
  await page.getByRole("button", { name: "Without the tag nightly" }).click();
  await expect(page).not.toHaveURL(/tag=/);
});

test("all runs of a filter start again, after a preview of what is touched", async ({ page, server }) => {
  const failed = await failedRuns(server);
  await page.goto("/runs?state=failed&workflow=fulfil");
  await page.getByRole("button", { name: "Rerun all" }).click();
  const dialog = page.getByRole("dialog", { name: "Rerun all runs of this filter" });
  await expect(dialog).toContainText(`${failed} runs would start again`);
  await expect(dialog.getByRole("list", { name: "Runs that are touched" }).getByRole("listitem")).toHaveCount(failed);
  await expectAccessible(page);
  await picture(page, "runs-bulk-light");
  await dialog.getByRole("button", { name: `Rerun ${failed} runs` }).click();
  await expect(page.getByText(`${failed} runs started again`)).toBeVisible();
  await expect(page.getByRole("table", { name: "Runs" }).getByRole("row")).toHaveCount(2 * failed + 1);
});

test("a run that comes to fit the filter after the preview is not touched", async ({ page, server }) => {
  await server.run("hostile", { text: "seen" }, true);
  await page.goto("/runs?state=failed&workflow=hostile");
  await page.getByRole("button", { name: "Rerun all" }).click();
  const dialog = page.getByRole("dialog", { name: "Rerun all runs of this filter" });
  const touched = dialog.getByRole("list", { name: "Runs that are touched" }).getByRole("listitem");
  await expect(touched.first()).toBeVisible();
  const count = await touched.count();
  const unseen = await server.run("hostile", { text: "unseen" }, true);
  await dialog.getByRole("button", { name: /^Rerun \d+ runs?$/ }).click();
  await expect(page.getByText(/^\d+ runs? started again$/)).toHaveText(new RegExp(`^${count} runs? `));
  const { runs } = await server.call("GET", "/api/v1/runs?workflow=hostile&limit=100");
  expect(runs.filter((run: { rerun_of?: string }) => run.rerun_of === unseen)).toEqual([]);
});

test("all runs of a filter are cancelled, after a preview", async ({ page, server }) => {
  await server.run("sleepy");
  await page.goto("/runs?state=running");
  await page.getByRole("button", { name: "Cancel all" }).click();
  const dialog = page.getByRole("dialog", { name: "Cancel all runs of this filter" });
  await dialog.getByRole("button", { name: /^Cancel \d+ runs?$/ }).click();
  await expect(page.getByText(/runs? cancelled/)).toBeVisible();
  await expect(page.getByText("No run fits this filter")).toBeVisible();
});
