import { describe, expect, it } from "vitest";
import { lastSegment, shortId } from "./names";

describe("names", () => {
  it("shows the last segment of a full name", () => {
    expect(lastSegment("public::embedded::fulfil")).toBe("fulfil");
    expect(lastSegment("fulfil")).toBe("fulfil");
  });

  it("shows the end of a long id and all of a short one", () => {
    expect(shortId("0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57")).toBe("1e8a4b57");
    expect(shortId("7")).toBe("7");
  });
});
