import { describe, expect, it } from "vitest";
import { PAUSE, parsedVisits, visited } from "./visits";

describe("visits", () => {
  const now = 1_800_000_000;

  it("shows the last day to one who comes for the first time", () => {
    expect(visited(null, now)).toEqual({ seen: now - 86_400, last: now });
  });

  it("keeps what is new while the page is looked at, and when it is loaded again", () => {
    expect(visited({ seen: now - 9_000, last: now - 60 }, now).seen).toBe(now - 9_000);
  });

  it("counts what was there in the visit before as seen after a pause", () => {
    expect(visited({ seen: now - 90_000, last: now - PAUSE - 1 }, now).seen).toBe(now - PAUSE - 1);
  });

  it("reads what it stored, and nothing else", () => {
    expect(parsedVisits("10 20")).toEqual({ seen: 10, last: 20 });
    for (const text of [null, "", "10", "a b", "10 20 30"]) expect(parsedVisits(text)).toBeNull();
  });
});
