import type { Page } from "@playwright/test";
import { FLOWS, TurnoutServer } from "./support/server.ts";
import { test as base, expect, expectAccessible, picture, signIn, type Theme, useTheme } from "./support/test.ts";

const HOSTILE = "<img src=x onerror=alert(1)>\u202egpj";
const RULES = {
  default_executor: "default",
  rules: [
    { pattern: "**::pricing::price", executor: "process" },
    { pattern: "**::training::*", executor: "workers", labels: { gpu: "a100", zone: HOSTILE } },
    { pattern: "**::chatty::*", executor: "process", percent: 20 },
    { pattern: "**::luck::*", executor: "process", shadow: true },
  ],
};

async function put(server: TurnoutServer, rules: unknown): Promise<void> {
  const { version } = await server.call("GET", "/api/v1/routing");
  const answer = await fetch(`${server.url}/api/v1/routing`, {
    method: "PUT",
    headers: {
      Authorization: `Bearer ${server.token}`,
      "Content-Type": "application/json",
      "If-Match": `"${version}"`,
    },
    body: JSON.stringify(rules),
  });
  expect(answer.ok, await answer.text()).toBe(true);
}

const test = base.extend<object, { server: TurnoutServer }>({
  server: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern
    async ({}, use) => {
      const server = new TurnoutServer([FLOWS], ["--hub", "tcp://127.0.0.1:0"]);
      await server.start();
      await put(server, RULES);
      for (const order of ["A-1", "A-2", "A-3"]) await server.run("fulfil", { order }, true);
      await server.run("luck", {}, true);
      await server.run("sleepy");
      await use(server);
      await server.stop();
      server.remove();
    },
    { scope: "worker", timeout: 180_000 },
  ],
});

const TABS = {
  rules: { path: "/dispatch", shows: "Routing rules" },
  tasks: { path: "/dispatch?tab=tasks", shows: "Where tasks go" },
  executors: { path: "/dispatch?tab=executors&task=default", shows: "Executors" },
};

for (const theme of ["light", "dark"] as Theme[]) {
  test(`every part of the dispatch page is accessible in the ${theme} theme`, async ({ page }) => {
    test.setTimeout(300_000);
    await useTheme(page, theme);
    for (const [name, { path, shows }] of Object.entries(TABS)) {
      await page.goto(path);
      await expect(page.getByRole("table", { name: shows }).getByRole("row").nth(1)).toBeVisible();
      await expect(page.locator(".skeleton")).toHaveCount(0);
      await expectAccessible(page);
      await picture(page, `dispatch-${name}-${theme}`);
    }
    await page.goto("/dispatch?tab=shadows");
    await expect(page.getByRole("list", { name: "Differences" })).toContainText("luck · draw");
    await expectAccessible(page);
    await picture(page, `dispatch-shadows-${theme}`);
  });
}

test("rules stand in order with what they decide, and names are text", async ({ page }) => {
  await page.goto("/dispatch");
  await expect(page.getByText("in force on every server of this database")).toBeVisible();
  const rows = page.getByRole("table", { name: "Routing rules" }).getByRole("row");
  await expect(rows.nth(1)).toContainText("**::pricing::price");
  await expect(rows.nth(1)).toContainText("1 task");
  // The mark of direction is named, the rest stands as it is.
  await expect(rows.nth(2)).toContainText(`zone=${HOSTILE.replace("\u202e", "⟨U+202E⟩")}`);
  await expect(rows.nth(3)).toContainText("20 % of runs");
  await expect(rows.nth(4)).toContainText("shadow");
  await expect(page.locator("main img")).toHaveCount(0);
});

test("every known task is listed with where it goes and why, by executor and by name", async ({ page }) => {
  await page.goto("/dispatch?tab=tasks");
  const table = page.getByRole("table", { name: "Where tasks go" });
  await expect(table.getByRole("row").filter({ hasText: "charge" }).first()).toContainText("default executor");
  await page.getByLabel("Executor").selectOption("workers");
  await expect(page).toHaveURL(/task=workers/);
  await expect(table.getByRole("row").filter({ hasText: "train" })).toContainText("gpu=a100");
  await expect(table.getByText("charge")).toHaveCount(0);
  await page.getByLabel("Executor").selectOption("");
  await page.getByLabel("Filter tasks").fill("PRICING::pri");
  await expect(table.getByRole("row")).toHaveCount(2);
  await expect(table).toContainText('rule 1 "**::pricing::price" → process');
  await page.getByLabel("Filter tasks").fill("nothing like it");
  await expect(page.getByText("No known task fits")).toBeVisible();
});

test("an executor shows what it runs", async ({ page }) => {
  await page.goto("/dispatch?tab=executors");
  await page.getByRole("table", { name: "Executors" }).getByRole("button", { name: "default" }).click();
  const panel = page.getByRole("complementary", { name: "default" });
  await expect(panel.getByRole("region", { name: "Runs now" })).toContainText("sleepy · nap");
  await panel.getByRole("link", { name: /nap/ }).click();
  await expect(page).toHaveURL(/\/runs\/.*task=nap/);
});

/** Replaces the text of the editor. */
async function write(page: Page, text: string): Promise<void> {
  const editor = page.getByRole("textbox", { name: "Routing rules" });
  await editor.click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(text);
}

const CHANGED = JSON.stringify(
  { ...RULES, rules: [{ pattern: "**::fulfil::charge", executor: "process" }, ...RULES.rules] },
  null,
  2,
);

test("changed rules are tried on the tasks of the last days, applied, and taken back", async ({ page, server }) => {
  await page.goto("/dispatch");
  await page.getByRole("button", { name: "Edit and try" }).click();
  await expect(page.getByText("The rules are those in force")).toBeVisible();
  await write(page, CHANGED);
  const changes = page.getByRole("list", { name: "Changes" });
  await expect(changes.getByRole("listitem").first()).toContainText("3 decisions of 1 task");
  await expect(changes).toContainText("fulfil::charge");
  await expect(page.getByText(/^3 of \d+ decisions would change/)).toBeVisible();
  await page.getByRole("button", { name: "Apply" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("region", { name: "What the rules change" })).toContainText("fulfil::charge");
  await picture(page, "dispatch-apply-light");
  await dialog.getByRole("button", { name: "Apply" }).click();
  await expect(page.getByText(/Version \d+ of the rules is in force/)).toBeVisible();
  await expect(page.getByRole("table", { name: "Routing rules" })).toContainText("fulfil::charge");
  const inForce = await server.call("GET", "/api/v1/routing");
  expect(inForce.routing.rules[0].pattern).toBe("**::fulfil::charge");
  await page.getByRole("button", { name: "Back to the configuration" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete the shared rules" }).click();
  await expect(page.getByText("No rules", { exact: true })).toBeVisible();
  await picture(page, "dispatch-empty-light");
  await put(server, RULES);
});

for (const theme of ["light", "dark"] as Theme[]) {
  test(`the effect of changed rules is accessible in the ${theme} theme`, async ({ page }) => {
    await useTheme(page, theme);
    await page.goto("/dispatch?tab=rules&view=edit");
    await write(page, CHANGED);
    await expect(page.getByRole("list", { name: "Changes" })).toContainText("fulfil::charge");
    await expectAccessible(page);
    await picture(page, `dispatch-what-if-${theme}`);
  });
}

test("what is wrong stands at its line in the server's words", async ({ page }) => {
  await page.goto("/dispatch?tab=rules&view=edit");
  await write(page, '{\n "rules": [\n  {"pattern": "**", "executor": "nowhere"}\n ]\n}');
  const findings = page.getByRole("list", { name: "Findings" });
  await expect(findings).toContainText('rule 1 "**" names executor "nowhere", which is not registered');
  await expect(findings).toContainText("3:33");
  await expect(findings).toContainText("unknown_executor");
  await expect(page.getByRole("button", { name: "Apply" })).toBeDisabled();
  await picture(page, "dispatch-findings-light");
  await write(page, '{\n "rules": [\n  {"pattern": "**" "executor": "default"}\n ]\n}');
  await expect(findings).toContainText("JSON is malformed");
  await expect(findings).toContainText("3:");
  await write(page, '{"rules": [{"pattern": "**::nobody", "executor": "default"}]}');
  await expect(findings).toContainText("matches no known task");
  await expect(page.getByText(/No decision of \d+ decisions would change/)).toBeVisible();
  await page.getByRole("button", { name: "Discard" }).click();
  await expect(findings).toHaveCount(0);
});

test("an edit of rules that others changed meanwhile gets the difference and a choice", async ({ page, server }) => {
  await page.goto("/dispatch?tab=rules&view=edit");
  await write(page, CHANGED);
  await expect(page.getByText(/decisions would change/)).toBeVisible();
  const theirs = { ...RULES, rules: [...RULES.rules, { pattern: "**::theirs", executor: "default" }] };
  await put(server, theirs);
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Apply" }).click();
  const stale = page.getByRole("dialog", { name: "Another version came in between" });
  await expect(stale.getByRole("region", { name: /Your text/ })).toContainText("**::theirs");
  await picture(page, "dispatch-stale-light");
  expect((await server.call("GET", "/api/v1/routing")).routing.rules).toHaveLength(theirs.rules.length);
  await stale.getByRole("button", { name: "Discard mine, take the newest" }).click();
  await expect(page.getByRole("textbox", { name: "Routing rules" })).toContainText("**::theirs");
  await put(server, RULES);
});

test("a viewer reads and tries, and is told who may apply", async ({ page, server, context }) => {
  const made = await server.call("POST", "/api/v1/tokens", { name: "visitor", role: "viewer" });
  await context.clearCookies();
  await signIn(page, server, made.secret);
  await page.goto("/dispatch");
  await expect(page.getByRole("table", { name: "Routing rules" })).toContainText("pricing");
  await expect(page.getByRole("button", { name: "Back to the configuration" })).toHaveCount(0);
  await page.getByRole("button", { name: "Edit and try" }).click();
  await write(page, CHANGED);
  await expect(page.getByRole("list", { name: "Changes" })).toContainText("fulfil::charge");
  await page.getByRole("button", { name: "Apply" }).focus();
  await expect(page.getByRole("tooltip")).toContainText("Applying needs the role admin; yours is viewer");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toHaveCount(0);
});

test("a phone shows the dispatch page without sideways scrolling", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 780 });
  for (const [name, { path, shows }] of Object.entries(TABS)) {
    await page.goto(path.replace("&task=default", ""));
    await expect(page.getByRole("table", { name: shows }).getByRole("row").nth(1)).toBeVisible();
    await picture(page, `phone-dispatch-${name}-light`);
    expect(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)).toBe(false);
  }
});
