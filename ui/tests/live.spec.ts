import { expect, test } from "./support/test.ts";

test("a run that is started elsewhere appears, and its state changes, without a reload", async ({ page, server }) => {
  await page.goto("/runs");
  await expect(page.getByTestId("connection").first()).toHaveText("Live");
  const id = await server.run("sleepy");
  const row = page.getByRole("row").filter({ hasText: id.slice(-8) });
  await expect(row).toContainText("running");
  await server.call("POST", `/api/v1/runs/${id}/cancel`, {});
  await expect(row).toContainText("cancelled");
});

test("a server that is restarted is followed again, with what happened meanwhile", async ({ page, server }) => {
  await page.goto("/runs");
  await expect(page.getByTestId("connection").first()).toHaveText("Live");
  await server.stop();
  await expect(page.getByTestId("connection").first()).toHaveText(/Reconnecting|Connecting/);
  await server.start();
  const id = await server.run("fulfil", {}, true);
  await expect(page.getByTestId("connection").first()).toHaveText("Live", { timeout: 30_000 });
  await expect(page.getByRole("row").filter({ hasText: id.slice(-8) })).toContainText("completed");
});

test("many tabs share one stream", async ({ page, server, context }) => {
  await page.goto("/runs");
  for (let tab = 0; tab < 8; tab++) {
    const more = await context.newPage();
    await more.goto("/runs");
    await expect(more.getByTestId("connection").first()).toHaveText("Live");
    await expect(more.getByRole("table", { name: "Runs" })).toBeVisible();
  }
  const id = await server.run("fulfil", {}, true);
  for (const each of context.pages()) {
    await each.bringToFront();
    await expect(each.getByRole("row").filter({ hasText: id.slice(-8) })).toContainText("completed");
  }
});
