import { describe, expect, it } from "vitest";
import { SseParser } from "./sse";

describe("SseParser", () => {
  it("reads events that come whole, with their ids", () => {
    const parser = new SseParser();
    const found = parser.push('id: 12\nevent: run\ndata: {"id":7}\n\nid: 13\nevent: run\ndata: {}\n\n');
    expect(found).toEqual([
      { event: "run", data: '{"id":7}', id: "12" },
      { event: "run", data: "{}", id: "13" },
    ]);
  });

  it("puts an event together that comes byte by byte", () => {
    const parser = new SseParser();
    const text = "event: task\ndata: one\ndata: two\n\n";
    const found = [...text].flatMap((letter) => parser.push(letter));
    expect(found).toEqual([{ event: "task", data: "one\ntwo" }]);
  });

  it("leaves out comments and blocks without data", () => {
    expect(new SseParser().push(": \n\nevent: x\n\n:hello\ndata: y\n\n")).toEqual([{ event: "message", data: "y" }]);
  });

  it("reads the delay that the server asks for, and other line ends", () => {
    const found = new SseParser().push('retry: 1000\r\nevent: closed\r\ndata: {"reason":"stopping"}\r\n\r\n');
    expect(found).toEqual([{ event: "closed", data: '{"reason":"stopping"}', retry: 1000 }]);
  });
});
