// Measures pages in a browser, for benchmarks/web.py: node scripts/measure.mjs '{"kind": "load", "url": …, "token": …}'.
// Prints one line of JSON; `live` and `open` print {"ready": true} before, and `open` ends with its standard input.
import { createInterface } from "node:readline";
import { chromium } from "@playwright/test";

const asked = JSON.parse(process.argv[2] ?? "{}");
const browser = await chromium.launch({
  executablePath: process.env.TURNOUT_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});

/** Counts what comes from the shared stream, and keeps the longest time for which the page could not answer. */
function observe() {
  const seen = { updates: 0, moves: 0, longest: 0 };
  globalThis.seen = seen;
  const setter = Object.getOwnPropertyDescriptor(MessagePort.prototype, "onmessage");
  Object.defineProperty(MessagePort.prototype, "onmessage", {
    ...setter,
    set(listener) {
      setter.set.call(this, (event) => {
        if (event.data?.event?.event === "moves") {
          seen.updates += 1;
          seen.moves += event.data.event.data.split('"seq":').length - 1;
        }
        listener(event);
      });
    },
  });
  new PerformanceObserver((list) => {
    for (const each of list.getEntries()) seen.longest = Math.max(seen.longest, each.duration);
  }).observe({ type: "longtask" });
}

async function signedIn() {
  const context = await browser.newContext({ viewport: { width: 1360, height: 860 } });
  await context.addInitScript(observe);
  const page = await context.newPage();
  const answer = await page.request.post(`${asked.url}/api/v1/session`, {
    data: { token: asked.token },
    headers: { Origin: asked.url },
  });
  if (answer.status() !== 201) throw new Error(`sign-in: ${answer.status()}`);
  return page;
}

/** Returns a function that reads the milliseconds of CPU that the main thread of a page has taken. */
async function cpuOf(page) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => {
    const { metrics } = await devtools.send("Performance.getMetrics");
    return 1_000 * metrics.find((each) => each.name === "TaskDuration").value;
  };
}

/** Resolves with the milliseconds since the page began to load at which it shows what a selector finds. */
async function shown(page, selector) {
  const time = await page.waitForFunction(
    (wanted) => (document.querySelector(wanted) ? performance.now() : false),
    selector,
    { timeout: 120_000 },
  );
  return time.jsonValue();
}

/** The page follows the stream of events. */
const LIVE = '[data-testid="connection"]:has-text("Live")';
const say = (figures) => console.log(JSON.stringify(figures));

const KINDS = {
  /** The whole page, with an empty cache. */
  async load() {
    const found = { ms: [], cpu_ms: [], longest_task_ms: [] };
    for (let round = 0; round < asked.rounds; round++) {
      const page = await signedIn();
      const cpu = await cpuOf(page);
      const before = await cpu();
      await page.goto(asked.url + asked.path, { waitUntil: "commit" });
      found.ms.push(await shown(page, asked.ready));
      found.cpu_ms.push((await cpu()) - before);
      found.longest_task_ms.push(await page.evaluate(() => globalThis.seen.longest));
      await page.context().close();
    }
    say(found);
  },
  /** From a click in a page that is open until the next page shows what is wanted. */
  async click() {
    const found = { ms: [] };
    const page = await signedIn();
    for (let round = 0; round <= asked.rounds; round++) {
      await page.goto(asked.url + asked.path);
      await page.waitForSelector(asked.link);
      await page.waitForSelector(LIVE);
      const taken = await page.evaluate(
        ([link, ready]) =>
          new Promise((done) => {
            const began = performance.now();
            document.querySelector(link).click();
            const look = () =>
              document.querySelector(ready) ? done(performance.now() - began) : requestAnimationFrame(look);
            look();
          }),
        [asked.link, asked.ready],
      );
      if (round > 0) found.ms.push(taken); // the first one also loads the module of the page
    }
    say(found);
  },
  /** A page that is followed until the run has ended. */
  async live() {
    const page = await signedIn();
    const cpu = await cpuOf(page);
    await page.goto(asked.url + asked.path);
    await shown(page, asked.ready);
    await page.waitForSelector(LIVE);
    const before = await cpu();
    await page.evaluate(() => Object.assign(globalThis.seen, { updates: 0, moves: 0, longest: 0 }));
    say({ ready: true });
    await page.waitForSelector(asked.until, { timeout: 300_000 });
    const seen = await page.evaluate(() => globalThis.seen);
    say({ ...seen, cpu_ms: (await cpu()) - before });
  },
  /** A page that stays open. */
  async open() {
    const page = await signedIn();
    await page.goto(asked.url + asked.path);
    await shown(page, asked.ready);
    await page.waitForSelector(LIVE);
    say({ ready: true });
    for await (const _ of createInterface({ input: process.stdin })) break;
  },
};

await KINDS[asked.kind]();
await browser.close();
