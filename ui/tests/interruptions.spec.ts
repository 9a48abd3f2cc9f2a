import { existsSync } from "node:fs";
import { join } from "node:path";
import { test as base, type Page } from "@playwright/test";
import { TurnoutServer } from "./support/server.ts";
import { expect, expectAccessible, picture, signIn, test } from "./support/test.ts";

/* What a viewer sees when the server, the token or the version goes away while they look. */

const PAGES = [
  "/",
  "/workflows",
  "/workflows/fulfil?tab=history",
  "/runs?state=failed",
  "/dispatch",
  "/workers",
  "/orchestration",
  "/schedules",
  "/limits",
  "/settings?tab=versions",
];

const connection = (page: Page) => page.getByTestId("connection").first();

/** Leaves a mark in the page: it is gone after a reload. */
async function mark(page: Page): Promise<void> {
  await page.evaluate(() => Object.assign(globalThis, { marked: true }));
}

async function expectNoReload(page: Page): Promise<void> {
  expect(await page.evaluate(() => "marked" in globalThis)).toBe(true);
}

test("a run goes on over a restart of the server, and its page follows without a reload", async ({ page, server }) => {
  const gate = join(server.folder, "gate");
  const id = await server.run("gated", { gate });
  await page.goto(`/runs/${id}`);
  const title = page.getByRole("heading", { level: 1 });
  await expect(page.getByRole("button", { name: /^hold running/ })).toBeVisible();
  await expect(connection(page)).toHaveText("Live");
  await mark(page);
  await server.stop();
  await expect(connection(page)).toHaveText(/Reconnecting|Connecting/);
  await expect(title).toContainText("running");
  await server.start();
  await expect(connection(page)).toHaveText("Live", { timeout: 60_000 });
  expect(existsSync(gate)).toBe(false);
  server.write("gate", "");
  await expect(title).toContainText("completed", { timeout: 60_000 });
  await expect(page.getByRole("button", { name: /^hold completed/ })).toBeVisible();
  await expectNoReload(page);
});

test("a token that is revoked asks for one sign-in on every page, and leads back to the same place", async ({
  page,
  server,
  context,
}) => {
  test.setTimeout(600_000);
  const run = await server.run("fulfil", { fail: true }, true);
  for (const path of [...PAGES, `/runs/${run}?task=charge&view=logs`]) {
    const made = await server.call("POST", "/api/v1/tokens", { name: "visitor", role: "viewer" });
    await context.clearCookies();
    await signIn(page, server, made.secret);
    await page.goto(path);
    await expect(connection(page)).toHaveText("Live");
    const title = (await page.getByRole("heading", { level: 1 }).first().textContent()) ?? "";
    const address = page.url();
    await mark(page);
    await server.call("DELETE", `/api/v1/tokens/${made.token.id}`);
    await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
    await page.getByLabel("Token").fill(server.token);
    await page.keyboard.press("Enter");
    await expect(page.getByRole("heading", { level: 1 }).first()).toHaveText(title);
    await expect(page).toHaveURL(address);
    await expect(connection(page)).toHaveText("Live");
    await expectNoReload(page);
  }
});

test("a server of another version is named, and what this page does not know of it does no harm", async ({
  page,
  server,
  faults,
}) => {
  const id = await server.run("fulfil", {}, true);
  await page.route("**/api/v1/session", async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), version: "9.9", interface: "0000" } });
  });
  // A later server may have states, reasons and fields that this page has never heard of.
  const known = await server.call("GET", `/api/v1/runs/${id}`);
  let complete = true;
  await page.route(/\/api\/v1\/runs(\?|$)/, async (route) => {
    const answer = await route.fetch();
    const strange = { ...known, id: `${id.slice(0, -1)}z`, state: "hibernating", moods: [1], reason: "moon:full" };
    const runs = [{ ...known, state: "suspended" }, complete ? strange : { state: "running" }];
    await route.fulfill({ response: answer, json: { runs, more: {} } });
  });
  // An earlier one does not have all that this page asks for.
  await page.route(/\/api\/v1\/(attention|stats|schedules\/next)/, (route) =>
    route.fulfill({
      status: 404,
      contentType: "application/problem+json",
      json: { status: 404, title: "Not Found", code: "unknown_route", detail: "there is nothing at this path" },
    }),
  );
  await page.goto("/runs");
  await expect(page.getByText("The server is now Turnout 9.9")).toBeVisible();
  const table = page.getByRole("table", { name: "Runs" });
  await expect(table).toContainText("suspended");
  await expect(table).toContainText("hibernating");
  await page.goto("/");
  await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
  await expect(page.getByText("unknown_route").first()).toBeVisible();
  await expectAccessible(page);
  await picture(page, "version-banner-light");
  await page.goto(`/runs/${id}`);
  await expect(page.getByRole("button", { name: /^charge completed/ })).toBeVisible();

  // A page that cannot be shown at all says so, and the navigation around it works.
  complete = false;
  await page.getByRole("link", { name: "Runs" }).click();
  await expect(page.getByRole("heading", { name: "This page cannot be shown" })).toBeVisible();
  faults.length = 0;
  await page.goBack();
  await expect(page.getByRole("button", { name: /^charge completed/ })).toBeVisible();
  await page.getByRole("button", { name: "Reload" }).click();
  await expect(page.getByRole("button", { name: /^charge completed/ })).toBeVisible();
});

base("a run whose streams the server refuses is polled, and the page says so", async ({ page, context }) => {
  const server = new TurnoutServer();
  server.write("turnout.toml", "[server]\nmax_streams = 1\n");
  try {
    await server.start();
    await signIn(page, server);
    const gate = join(server.folder, "gate");
    const id = await server.run("chatty", { lines: 3, gate });
    await page.goto(`${server.url}/runs/${id}?tab=tasks&task=shout&view=logs`);
    await expect(connection(page)).toHaveText("Polling");
    const log = page.getByRole("region", { name: "Log" });
    await expect(log).toContainText("line 0");
    await picture(page, "run-polled-light");
    server.write("gate", "");
    await expect(log).toContainText("line 2");
    await expect(page.getByRole("table", { name: "Tasks" }).getByRole("row").nth(2)).toContainText("completed");
    await expect(connection(page)).toHaveText("Live");
  } finally {
    await context.close();
    await server.stop();
    server.remove();
  }
});

base(
  "more tabs than a browser has connections share the only stream that the server allows",
  async ({ page, context }) => {
    const server = new TurnoutServer();
    server.write("turnout.toml", "[server]\nmax_streams = 1\n");
    try {
      await server.start();
      await signIn(page, server);
      await page.goto(`${server.url}/runs`);
      for (let tab = 1; tab < 8; tab++) await (await context.newPage()).goto(`${server.url}/runs`);
      for (const tab of context.pages()) await expect(connection(tab)).toHaveText("Live");
      const id = await server.run("fulfil", {}, true);
      for (const tab of context.pages()) {
        await tab.bringToFront();
        await expect(tab.getByRole("row").filter({ hasText: id.slice(-8) })).toContainText("completed");
      }
    } finally {
      await context.close();
      await server.stop();
      server.remove();
    }
  },
);
