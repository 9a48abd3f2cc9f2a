import { expect, test } from "./support/test.ts";

test("a viewer signs in with a token, is sent back to the same place, and signs out", async ({
  page,
  server,
  context,
}) => {
  await context.clearCookies();
  await page.goto("/runs?workflow=fulfil");
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await page.getByLabel("Token").fill("to_wrong");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("alert")).toContainText("unknown_token");
  await page.getByLabel("Token").fill(server.token);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Runs" })).toBeVisible();
  await expect(page).toHaveURL(/\/runs\?workflow=fulfil/);
  const cookies = await context.cookies();
  expect(cookies.map((each) => [each.name, each.httpOnly, each.sameSite])).toEqual([
    ["turnout_session", true, "Strict"],
  ]);
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
});

test("a change of a page carries what protects against other sites", async ({ page, server }) => {
  const without = await page.request.post(`${server.url}/api/v1/runs`, { data: { workflow: "fulfil" } });
  expect((await without.json()).code).toBe("csrf_missing");
});
