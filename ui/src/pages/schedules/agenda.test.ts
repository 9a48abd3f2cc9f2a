import { expect, it } from "vitest";
import { agenda, cutOff } from "./agenda";

const fire = (at: Date) => ({
  schedule_id: 1,
  workflow: "w",
  name: "s",
  action: "start" as const,
  due_at: at.getTime() / 1_000,
  acts_at: at.getTime() / 1_000,
  local: "",
});

it("puts each due time under its day, and has days without one", () => {
  const from = new Date(2026, 2, 28, 15).getTime() / 1_000;
  const fires = [fire(new Date(2026, 2, 28, 23, 59)), fire(new Date(2026, 2, 30, 0, 0)), fire(new Date(2026, 3, 2))];
  const days = agenda(fires, from, 4);
  expect(days.map((day) => day.fires.length)).toEqual([1, 0, 1, 0]);
  expect(days.map((day) => new Date(day.at * 1_000).getDate())).toEqual([28, 29, 30, 31]);
});

it("names the schedules of which not all due times were read", () => {
  const often = [1, 2, 3].map((minute) => fire(new Date(2026, 2, 28, 15, minute)));
  expect(cutOff([...often, { ...fire(new Date(2026, 2, 28)), schedule_id: 2, name: "daily" }], 3)).toEqual(["s"]);
  expect(cutOff(often, 4)).toEqual([]);
});
