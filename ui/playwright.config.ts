import { existsSync } from "node:fs";
import { defineConfig } from "@playwright/test";

/** Debian's Chromium, or the one that is named: nothing is downloaded. */
export const CHROMIUM = process.env.TURNOUT_CHROMIUM ?? "/usr/bin/chromium";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

if (!existsSync(CHROMIUM)) {
  console.log(
    `the browser tests are skipped: there is no Chromium at ${CHROMIUM} (on Debian: apt-get install chromium)`,
  );
  process.exit(0);
}

export default defineConfig({
  testDir: "tests",
  outputDir: "test-results",
  timeout: 300_000,
  expect: { timeout: 30_000 },
  workers: 2,
  fullyParallel: false,
  reporter: [["list"]],
  use: {
    browserName: "chromium",
    headless: true,
    launchOptions: { executablePath: CHROMIUM, args: FLAGS },
    viewport: { width: 1360, height: 860 },
    trace: "retain-on-failure",
  },
});
