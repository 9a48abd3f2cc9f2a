import { spawn } from "node:child_process";
import { createServer, request as forward } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { test as base } from "@playwright/test";
import { FLOWS, PYTHON, TurnoutServer } from "./support/server.ts";
import { expect, signIn, test } from "./support/test.ts";

test("the page loads nothing from elsewhere, and its policy is not breached", async ({ page, server, faults }) => {
  const hosts = new Set<string>();
  page.on("request", (request) => hosts.add(new URL(request.url()).origin));
  await page.goto("/");
  await expect(page.getByTestId("connection").first()).toHaveText("Live");
  expect([...hosts]).toEqual([server.url]);
  expect(faults).toEqual([]);
});

base("the link that turnout dev prints signs in and leads to the home page", async ({ page, context }) => {
  const other = new TurnoutServer();
  const dev = spawn(
    PYTHON,
    ["-m", "turnout", "dev", "--port", "0", "--no-worker", "--database", other.database, FLOWS],
    {
      cwd: other.folder,
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  try {
    const link = await new Promise<string>((done) => {
      createInterface({ input: dev.stderr }).on("line", (line) => {
        const found = /sign in, once: (\S+)/.exec(line);
        if (found?.[1]) done(found[1]);
      });
    });
    await page.goto(link);
    await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
    await expect(page).toHaveURL(new URL("/", link).href);
    await page.goto(link);
    await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
    await context.clearCookies();
    await page.goto("about:blank");
    await page.goto(link);
    await expect(page.getByText("this sign-in code is unknown, used or too old")).toBeVisible();
  } finally {
    const ended = new Promise((done) => dev.once("exit", done));
    dev.kill("SIGTERM");
    await ended;
    other.remove();
  }
});

base("below a path of a proxy, pages, files, the API and the stream are found", async ({ page }) => {
  const server = new TurnoutServer([FLOWS], ["--root-path", "/ops/turnout"]);
  await server.start();
  const proxy = createServer((incoming, answer) => {
    if (!incoming.url?.startsWith("/ops/turnout")) {
      answer.writeHead(404).end();
      return;
    }
    const options = { method: incoming.method, headers: incoming.headers };
    const passed = forward(server.url + incoming.url, options, (answered) => {
      answer.writeHead(answered.statusCode ?? 502, answered.headers);
      answered.pipe(answer);
    });
    passed.on("error", () => answer.destroy());
    incoming.pipe(passed);
    answer.on("close", () => passed.destroy());
  });
  await new Promise<void>((done) => proxy.listen(0, "127.0.0.1", done));
  const outside = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/ops/turnout`;
  try {
    await page.goto(`${outside}/runs`);
    await page.getByLabel("Token").fill(server.token);
    await page.keyboard.press("Enter");
    await expect(page.getByRole("heading", { name: "Runs" })).toBeVisible();
    await expect(page.getByTestId("connection").first()).toHaveText("Live");
    const id = await server.run("fulfil", {}, true);
    await page
      .getByRole("row")
      .filter({ hasText: id.slice(-8) })
      .getByRole("link")
      .click();
    await expect(page).toHaveURL(`${outside}/runs/${id}`);
    await page.reload();
    await expect(page.getByText(id)).toBeVisible();
  } finally {
    proxy.closeAllConnections();
    proxy.close();
    await server.stop();
    server.remove();
  }
});

test("a session that was made by signing in belongs to the token that was used", async ({ page, server, context }) => {
  await context.clearCookies();
  const made = await server.call("POST", "/api/v1/tokens", { name: "night shift", role: "operator" });
  await signIn(page, server, made.secret);
  await page.goto("/");
  await expect(page.getByText("night shift").first()).toBeVisible();
});
