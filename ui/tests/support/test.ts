import AxeBuilder from "@axe-core/playwright";
import { test as base, expect, type Page } from "@playwright/test";
import { TurnoutServer } from "./server.ts";

interface WorkerFixtures {
  server: TurnoutServer;
}

interface TestFixtures {
  /** A page that is signed in as an admin. */
  page: Page;
  /** Messages of the browser's console that are errors: breaches of the policy of the page, failed scripts. */
  faults: string[];
}

/** A test with a real server, which the tests of one file share, and a browser that is signed in to it. */
export const test = base.extend<TestFixtures, WorkerFixtures>({
  server: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern
    async ({}, use) => {
      const server = new TurnoutServer();
      try {
        await server.start();
        await use(server);
      } finally {
        await server.stop();
        server.remove();
      }
    },
    { scope: "worker", timeout: 180_000 },
  ],
  baseURL: async ({ server }, use) => {
    await use(server.url);
  },
  // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern
  faults: async ({}, use) => {
    await use([]);
  },
  page: async ({ page, server, faults }, use) => {
    page.on("pageerror", (error) => faults.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error" && !/Failed to load resource|ERR_CONNECTION/.test(message.text()))
        faults.push(message.text());
    });
    await signIn(page, server);
    await use(page);
    expect(faults).toEqual([]);
  },
});

/** Signs the browser of a page in by the API, as the sign-in page does. */
export async function signIn(page: Page, server: TurnoutServer, token = server.token): Promise<void> {
  const answer = await page.request.post(`${server.url}/api/v1/session`, {
    data: { token },
    headers: { Origin: server.url },
  });
  expect(answer.status()).toBe(201);
}

export type Theme = "light" | "dark";

export async function useTheme(page: Page, theme: Theme): Promise<void> {
  await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
}

/** Fails for serious and critical findings of axe. */
export async function expectAccessible(page: Page): Promise<void> {
  const found = await new AxeBuilder({ page }).options({ resultTypes: ["violations"] }).analyze();
  const bad = found.violations.filter((each) => each.impact === "serious" || each.impact === "critical");
  expect(bad.map((each) => `${each.id}: ${each.nodes.map((node) => node.html).join(" | ")}`)).toEqual([]);
}

const MARKUP = "<img src=x onerror=harmed=1>";
/** Text that does something where it is taken for more than text; the hub takes printable characters only. */
export const HOSTILE_LABEL = MARKUP;
export const HOSTILE = `${MARKUP} \u001b[31mred\u001b[0m \u001b]8;;https://example.org\u0007link\u001b]8;;\u0007 \u202egpj.exe\u2066`;

/** Fails if anything that came from outside has become more than text: an element, a link, a script, a direction. */
export async function expectTextOnly(page: Page): Promise<void> {
  const found = await page.evaluate(() => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
    const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
    const wrong: string[] = [];
    for (const each of document.querySelectorAll("img[src], script:not([src]), a[href^='https://example.org']")) {
      wrong.push(each.outerHTML.slice(0, 200));
    }
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (controls.test(node.nodeValue ?? "")) wrong.push(`text: ${JSON.stringify(node.nodeValue)}`);
    }
    for (const each of document.querySelectorAll("[title], [aria-label]")) {
      const words = `${each.getAttribute("title") ?? ""}${each.getAttribute("aria-label") ?? ""}`;
      if (controls.test(words)) wrong.push(`attribute: ${JSON.stringify(words)}`);
    }
    if ("harmed" in globalThis) wrong.push("a script from outside has run");
    return wrong;
  });
  expect(found).toEqual([]);
}

/** Keeps a picture of the page in ui/screenshots. */
export async function picture(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: `screenshots/${name}.png` });
}

/** Keeps a picture of the page in each theme. */
export async function pictures(page: Page, name: string): Promise<void> {
  for (const theme of ["dark", "light"] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    // Colours that are on their way from the other theme arrive at once.
    await page.screenshot({ path: `screenshots/${name}-${theme}.png`, animations: "disabled" });
  }
}

export { expect };
