import { expect, expectAccessible, test } from "./support/test.ts";

test("a token is made, shown once, listed, revoked, and the audit has it all", async ({ page, server }) => {
  await page.goto("/settings");
  await page.getByRole("button", { name: "New token" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("deploy");
  await dialog.getByLabel("Role").selectOption("operator");
  await expectAccessible(page);
  await page.keyboard.press("Enter");
  await expect(dialog.getByTestId("secret")).toBeVisible({ timeout: 20_000 });
  const secret = (await dialog.getByTestId("secret").textContent()) ?? "";
  await dialog.getByRole("button", { name: "Done" }).click();
  const session = await fetch(`${server.url}/api/v1/session`, { headers: { Authorization: `Bearer ${secret}` } });
  expect((await session.json()).role).toBe("operator");

  const row = page.getByRole("row").filter({ hasText: "deploy" });
  await expect(row).toContainText("usable");
  await row.getByRole("button", { name: "Revoke deploy" }).click();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByText("The token deploy is revoked")).toBeVisible();
  await expect(row).toHaveCount(0);

  await page.getByRole("tab", { name: "Audit" }).click();
  const audit = page.getByRole("table", { name: "Audit" });
  await expect(audit).toContainText("/api/v1/tokens");
  await expect(audit).toContainText("DELETE");
});

test("the configuration says where each value comes from", async ({ page }) => {
  await page.goto("/settings?tab=configuration");
  await page.getByLabel("Filter").fill("server.port");
  const row = page.getByRole("table", { name: "Configuration" }).getByRole("row").filter({ hasText: "server.port" });
  await expect(row).toContainText("8470");
  await expect(row).toContainText("default");
});

test("a viewer without the role is told so in the server's words", async ({ page, server, context }) => {
  const made = await server.call("POST", "/api/v1/tokens", { name: "guest", role: "viewer" });
  await context.clearCookies();
  await page.request.post("/api/v1/session", { data: { token: made.secret }, headers: { Origin: server.url } });
  await page.goto("/settings");
  await expect(page.getByRole("tab", { name: "Versions", selected: true })).toBeVisible();
  await page.getByRole("tab", { name: "Tokens" }).click();
  await expect(page.getByRole("alert")).toContainText("role_too_low");
});
