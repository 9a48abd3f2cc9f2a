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
