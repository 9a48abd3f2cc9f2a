import { expect, test } from "./support/test.ts";

test.beforeAll(async ({ server }) => {
  for (const order of ["A-1", "A-2", "A-3"]) await server.run("fulfil", { order }, true);
  await server.run("fulfil", { order: "B-1", fail: true }, true);
  await server.run("sleepy");
});

test("home shows failures, what runs and the last hour", async ({ page }) => {
  await page.goto("/");
  const attention = page.getByRole("region", { name: "Needs attention" });
  await expect(attention).toContainText("fulfil failed");
  await expect(attention).toContainText("The card of Ada was declined");
  await expect(page.getByRole("table", { name: "Running now" })).toContainText("sleepy");
  await expect(page.getByRole("img", { name: /3 completed, 1 failed/ }).locator("canvas")).toBeVisible();
});

test("what was seen is not shown again, and a new failure is", async ({ page, server }) => {
  await page.goto("/");
  const attention = page.getByRole("region", { name: "Needs attention" });
  await expect(attention).toContainText("fulfil failed");
  await page.getByRole("button", { name: "Mark as seen" }).click();
  await expect(attention).toContainText("Nothing needs you");
  await page.reload();
  await expect(attention).toContainText("Nothing needs you");
  await server.run("fulfil", { order: "B-2", fail: true }, true);
  await expect(attention).toContainText("fulfil failed", { timeout: 25_000 });
});
