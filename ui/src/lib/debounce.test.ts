// @vitest-environment jsdom
import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { useTyped } from "./debounce";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("useTyped", () => {
  it("reports what is typed once it has settled, and an empty field as nothing", () => {
    const report = vi.fn();
    const { result } = renderHook(() => useTyped(undefined, report, 100));
    act(() => result.current[1]("a"));
    act(() => result.current[1]("ab"));
    act(() => void vi.advanceTimersByTime(99));
    expect(report).not.toHaveBeenCalled();
    act(() => void vi.advanceTimersByTime(1));
    expect(report.mock.calls).toEqual([["ab"]]);
    act(() => result.current[1](""));
    act(() => void vi.advanceTimersByTime(100));
    expect(report.mock.lastCall).toEqual([undefined]);
  });

  it("shows what its owner changes, and keeps what is typed while the owner catches up", () => {
    const report = vi.fn();
    const { result, rerender } = renderHook(({ value }) => useTyped(value, report, 100), {
      initialProps: { value: "a" as string | undefined },
    });
    expect(result.current[0]).toBe("a");
    act(() => result.current[1]("ab"));
    act(() => void vi.advanceTimersByTime(100));
    act(() => result.current[1]("abc"));
    rerender({ value: "ab" });
    expect(result.current[0]).toBe("abc");
    rerender({ value: undefined });
    expect(result.current[0]).toBe("");
  });
});
