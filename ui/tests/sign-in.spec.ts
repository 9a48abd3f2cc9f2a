import { expect, expectAccessible, picture, signIn, test } from "./support/test.ts";

test("a viewer signs in with a token, is sent back to the same place, and signs out", async ({
  page,
  server,
  context,
}) => {
  await context.clearCookies();
  await page.goto("/runs?workflow=fulfil");
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await expectAccessible(page);
  await picture(page, "sign-in-light");
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

test("a token that is revoked while its holder looks on asks for one sign-in, at the same place", async ({
  page,
  server,
  context,
}) => {
  const made = await server.call("POST", "/api/v1/tokens", { name: "visitor", role: "viewer" });
  await context.clearCookies();
  await signIn(page, server, made.secret);
  await page.goto("/workflows");
  await expect(page.getByTestId("connection").first()).toHaveText("Live");
  await server.call("DELETE", `/api/v1/tokens/${made.token.id}`);
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await expect(page.getByText("was revoked")).toBeVisible();
  await page.getByLabel("Token").fill(server.token);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Workflows" })).toBeVisible();
  await expect(page.getByTestId("connection").first()).toHaveText("Live");
});

test("a change of a page carries what protects against other sites", async ({ page, server }) => {
  const without = await page.request.post(`${server.url}/api/v1/runs`, { data: { workflow: "fulfil" } });
  expect((await without.json()).code).toBe("csrf_missing");
});
