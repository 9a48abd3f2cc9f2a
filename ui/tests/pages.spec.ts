import type { Page } from "@playwright/test";
import { FLOWS, freeAddress, TurnoutServer } from "./support/server.ts";
import {
  test as base,
  expect,
  expectAccessible,
  expectTextOnly,
  HOSTILE,
  HOSTILE_LABEL,
  picture,
  useTheme,
} from "./support/test.ts";

/* All pages with something on them, and in all of it text that tries to be more than text. */

const NIGHTLY = (text: string) => `description: ${JSON.stringify(text)}
tags: [${JSON.stringify(text)}]
schedule:
  - name: nightly
    cron: "30 2 * * *"
params:
  - name: REGION
    enum: [eu, us]
    default: eu
    description: ${JSON.stringify(text)}
steps:
  - name: count
    command: echo counted
    limit: {name: ${JSON.stringify(text)}, at_most: 1}
  - name: report
    command: echo reported
    depends: [count]
`;

interface Content {
  server: TurnoutServer;
  failed: string;
  done: string;
  mapped: string;
  waiting: string;
  hostile: string;
}

const test = base.extend<object, { content: Content; server: TurnoutServer }>({
  server: [async ({ content }, use) => use(content.server), { scope: "worker", timeout: 180_000 }],
  content: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern
    async ({}, use) => {
      const hub = await freeAddress();
      const server = new TurnoutServer([FLOWS], ["--hub", hub]);
      server.write("turnout.toml", "[server]\nallow_local_execution = true\n");
      try {
        await use(await filled(server, hub));
      } finally {
        await server.stop();
        server.remove();
      }
    },
    { scope: "worker", timeout: 180_000 },
  ],
});

/** Starts a server with a worker and runs of all kinds. */
async function filled(server: TurnoutServer, hub: string): Promise<Content> {
  await server.start();
  server.startWorker(hub, "--name", HOSTILE_LABEL, "--label", `note=${HOSTILE_LABEL}`, "--label", "gpu=t4");
  await server.put("nightly", NIGHTLY(HOSTILE));
  await server.call("POST", "/api/v1/tokens", { name: HOSTILE, role: "viewer" });
  const content = {
    server,
    failed: await server.run("fulfil", { order: HOSTILE, fail: true }, true),
    done: await server.run("fulfil", { order: "A-1" }, true),
    mapped: await server.run("pricing", { count: 12 }, true),
    waiting: await server.run("training"),
    hostile: await server.run("hostile", { text: HOSTILE }, true),
  };
  await server.run("nightly", {}, true);
  const stopped = await server.run("sleepy");
  await server.call("POST", `/api/v1/runs/${stopped}/cancel`, { reason: HOSTILE });
  await server.run("sleepy");
  await expect
    .poll(async () => (await server.call("GET", "/api/v1/workers")).workers.length, { timeout: 60_000 })
    .toBeGreaterThan(0);
  return content;
}

interface Row {
  name: string;
  path: string | ((content: Content) => string);
  /** What the page shows once it is complete. */
  shows: (page: Page) => ReturnType<Page["locator"]>;
  /** Also taken in the width of a phone. */
  phone?: boolean;
}

const text = (words: string | RegExp) => (page: Page) => page.getByText(words).first();
const table = (name: string) => (page: Page) => page.getByRole("table", { name }).getByRole("row").nth(1);
const section = (page: Page) => page.getByRole("tabpanel").locator("section, form").first();
const task = (page: Page) => page.getByRole("button", { name: /^(charge|price|train)/ }).first();

const PAGES: Row[] = [
  { name: "home", path: "/", shows: text("fulfil failed"), phone: true },
  { name: "workflows", path: "/workflows", shows: table("Workflows"), phone: true },
  ...["overview", "start", "history", "source", "schedules", "versions"].map((tab) => ({
    name: `workflow-${tab}`,
    path: `/workflows/nightly?tab=${tab}`,
    shows: tab === "source" ? (page: Page) => page.getByRole("textbox", { name: "Source of nightly" }) : section,
    phone: tab === "overview",
  })),
  { name: "runs", path: "/runs", shows: table("Runs"), phone: true },
  { name: "run-graph", path: ({ failed }) => `/runs/${failed}`, shows: task, phone: true },
  { name: "run-timeline", path: ({ failed }) => `/runs/${failed}?tab=timeline`, shows: task, phone: true },
  { name: "run-tasks", path: ({ mapped }) => `/runs/${mapped}?tab=tasks`, shows: table("Tasks"), phone: true },
  { name: "run-log", path: ({ hostile }) => `/runs/${hostile}?tab=logs`, shows: text(/onerror/) },
  { name: "run-values", path: ({ hostile }) => `/runs/${hostile}?tab=values`, shows: text(/onerror/) },
  { name: "task", path: ({ failed }) => `/runs/${failed}?task=charge`, shows: text("Traceback"), phone: true },
  {
    name: "task-log",
    path: ({ hostile }) => `/runs/${hostile}?task=speak&view=logs`,
    shows: (page) => page.getByRole("region", { name: "Log" }),
  },
  {
    name: "task-output",
    path: ({ hostile }) => `/runs/${hostile}?task=speak&view=output`,
    shows: (page) => page.getByRole("region", { name: "Output" }),
  },
  { name: "task-waiting", path: ({ waiting }) => `/runs/${waiting}?task=train`, shows: text("What ends it:") },
  { name: "dispatch", path: "/dispatch", shows: (page) => page.getByRole("heading", { level: 1 }), phone: true },
  { name: "workers", path: "/workers", shows: text(/onerror/), phone: true },
  {
    name: "orchestration",
    path: "/orchestration",
    shows: (page) => page.getByRole("heading", { level: 1 }),
    phone: true,
  },
  { name: "schedules", path: "/schedules", shows: text("nightly"), phone: true },
  { name: "limits", path: "/limits", shows: text(/onerror/), phone: true },
  ...["tokens", "audit", "configuration", "versions"].map((tab) => ({
    name: `settings-${tab}`,
    path: `/settings?tab=${tab}`,
    shows: (page: Page) =>
      page
        .getByRole("tabpanel")
        .getByRole(tab === "versions" ? "term" : "row")
        .first(),
    phone: tab === "tokens",
  })),
  { name: "nowhere", path: "/nowhere", shows: text("There is no page at this address") },
];

for (const { name, path, shows, phone } of PAGES) {
  test(`${name}: accessible in both themes, and what comes from outside is text`, async ({ page, content }) => {
    await useTheme(page, "light");
    await page.goto(typeof path === "string" ? path : path(content));
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await expect(shows(page)).toBeVisible();
    await expect(page.locator(".skeleton")).toHaveCount(0);
    expect(await page.title()).toContain("· Turnout");
    await expectTextOnly(page);
    await expectAccessible(page);
    await picture(page, `${name}-light`);
    await useTheme(page, "dark");
    await expectAccessible(page);
    await picture(page, `${name}-dark`);
    if (!phone) return;
    await page.setViewportSize({ width: 390, height: 780 });
    await expect(shows(page)).toBeAttached();
    await expect
      .poll(() => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth))
      .toBeLessThanOrEqual(0);
    await picture(page, `${name}-phone`);
  });
}

test("sign-in: accessible in both themes", async ({ page, context }) => {
  await context.clearCookies();
  await useTheme(page, "light");
  await page.goto("/runs");
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await expectAccessible(page);
  await picture(page, "sign-in-light");
  await useTheme(page, "dark");
  await expectAccessible(page);
  await picture(page, "sign-in-dark");
});
