import { expect, expectAccessible, picture, test, useTheme } from "./support/test.ts";

test.beforeAll(async ({ server }) => {
  await server.run("fulfil", { order: "A-17" }, true);
});

test("the command palette finds pages and workflows, by the keyboard alone", async ({ page }) => {
  await page.goto("/");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("Control+k");
  await expect(page.getByRole("combobox")).toBeFocused();
  await page.keyboard.type("fulf");
  await expect(page.getByRole("option").first()).toContainText("fulfil");
  await expectAccessible(page);
  await picture(page, "palette-light");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/workflows\/.*fulfil/);
});

test("g and a letter lead to a page, and ? shows the keys", async ({ page }) => {
  await page.goto("/");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("g");
  await page.keyboard.press("r");
  await expect(page).toHaveURL(/\/runs$/);
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keyboard" })).toBeVisible();
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
});

test("the command palette signs out", async ({ page }) => {
  await page.goto("/");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("sign out");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
});

test("the theme is kept", async ({ page }) => {
  await useTheme(page, "light");
  await page.goto("/");
  await page.getByRole("button", { name: "Theme" }).click();
  await page.getByRole("menuitemradio", { name: "Dark" }).click();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
});

test("an address without a page says so, and unknown paths of the API stay problem documents", async ({ page }) => {
  await page.goto("/nowhere/at/all");
  await expect(page.getByText("There is no page at this address")).toBeVisible();
  const answer = await page.request.get("/api/v1/nowhere", { headers: { Accept: "text/html" } });
  expect(answer.status()).toBe(404);
  expect((await answer.json()).code).toBe("unknown_route");
});

test("a phone reaches every page", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 780 });
  await page.goto("/runs");
  await expect(page.getByRole("table", { name: "Runs" })).toBeVisible();
  await picture(page, "phone-runs-light");
  await page.getByRole("button", { name: "Pages" }).click();
  await page.getByRole("dialog").getByRole("link", { name: "Workflows" }).click();
  await expect(page).toHaveURL(/\/workflows$/);
  await expect(page.getByRole("dialog")).toHaveCount(0);
  const wider = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  expect(wider).toBe(false);
});
