import type { Locator, Page } from "@playwright/test";
import { expect, expectAccessible, picture, test } from "./support/test.ts";

/** Presses Tab until an element has the focus; fails if it cannot be reached so. */
async function tabTo(page: Page, wanted: Locator): Promise<void> {
  await expect(wanted).toBeVisible();
  for (let pressed = 0; pressed < 80; pressed++) {
    if (await wanted.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  await expect(wanted).toBeFocused();
}

test("by the keyboard alone: a run is started, its failed task is found, and it starts again from it", async ({
  page,
}) => {
  await page.goto("/");
  const title = page.getByRole("heading", { level: 1 });
  await expect(title).toContainText("Home");

  // The workflow, by the palette, and its form.
  await page.keyboard.press("Control+k");
  await page.keyboard.type("fulfil");
  await expect(page.getByRole("option").first()).toContainText("fulfil");
  await page.keyboard.press("Enter");
  await expect(title).toContainText("fulfil");
  await page.keyboard.press("s");
  await tabTo(page, page.getByLabel(/^order/));
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type("B-7");
  await tabTo(page, page.getByLabel(/^fail/));
  await page.keyboard.press("Space");
  await tabTo(page, page.getByRole("button", { name: "Start run" }));
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/runs\/[0-9a-f-]+/);
  await expect(title).toContainText("failed");
  const first = page.url();

  // The failed task, which comes first in the list.
  await tabTo(page, page.getByRole("tab", { name: "Graph" }));
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await expect(page.getByRole("tab", { name: /Tasks/ })).toBeFocused();
  await tabTo(page, page.getByRole("table", { name: "Tasks" }).getByRole("button").first());
  await page.keyboard.press("j");
  await expect(page.getByRole("table", { name: "Tasks" }).getByRole("button", { name: "charge" })).toBeFocused();
  await page.keyboard.press("Enter");
  const panel = page.getByRole("complementary", { name: "charge" });
  await expect(panel).toBeFocused();
  await expect(panel).toContainText("the card of Ada was declined");

  // What a rerun from it would do, and the rerun.
  await page.keyboard.press("Tab");
  await expect(panel.getByRole("button", { name: "Rerun from here" })).toBeFocused();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Rerun from charge" });
  const does = dialog.getByRole("region", { name: "What the rerun does" });
  await expect(does).toContainText("2 tasks run again");
  await expect(does).toContainText("1 result reused");
  await expect(does).toContainText("did not finish");
  await expectAccessible(page);
  await picture(page, "run-rerun-light");
  await tabTo(page, dialog.getByLabel("Input"));
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type('{"order": "B-7", "fail": false}');
  await expect(does).toContainText("charge");
  const button = dialog.getByRole("button", { name: "Rerun", exact: true });
  await expect(button).toBeEnabled();
  await tabTo(page, button);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(page).not.toHaveURL(first);
  await expect(title).toContainText("completed");
  await expect(page.getByText("a rerun of")).toBeVisible();
});
