import { describe, expect, it } from "vitest";
import { type Command, matching } from "./commands";

const command = (label: string, hint?: string): Command => ({ id: label, label, hint, run: () => {} });
const labels = (typed: string, commands: Command[]) => matching(commands, typed).map((each) => each.label);

describe("matching", () => {
  const all = [command("Runs", "page"), command("nightly_runs", "workflow"), command("overruns", "workflow")];

  it("keeps the order while nothing is typed", () => {
    expect(labels("", all)).toEqual(["Runs", "nightly_runs", "overruns"]);
  });

  it("puts beginnings before parts of words", () => {
    expect(labels("runs", all)).toEqual(["Runs", "nightly_runs", "overruns"]);
    expect(labels("RUN", [...all].reverse())).toEqual(["Runs", "nightly_runs", "overruns"]);
  });

  it("wants every word, in any order", () => {
    expect(labels("workflow runs", all)).toEqual(["nightly_runs", "overruns"]);
    expect(labels("runs nothing", all)).toEqual([]);
  });
});
