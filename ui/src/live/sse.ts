/** One server-sent event. */
export interface SseEvent {
  event: string;
  data: string;
  /** The position behind this event, if it has one. */
  id?: string;
  /** The delay before the next connection that the server asks for, in milliseconds. */
  retry?: number;
}

/** Splits the text of a stream into events; what is incomplete waits for the next piece. */
export class SseParser {
  private rest = "";

  push(text: string): SseEvent[] {
    this.rest += text;
    const found: SseEvent[] = [];
    for (;;) {
      const end = /\r\n\r\n|\n\n|\r\r/.exec(this.rest);
      if (end === null) return found;
      const event = parsed(this.rest.slice(0, end.index));
      this.rest = this.rest.slice(end.index + end[0].length);
      if (event !== null) found.push(event);
    }
  }
}

function parsed(block: string): SseEvent | null {
  const event: SseEvent = { event: "message", data: "" };
  const data: string[] = [];
  for (const line of block.split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(":");
    if (colon === 0) continue; // a comment, which keeps the stream open
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") data.push(value);
    else if (name === "event") event.event = value;
    else if (name === "id" && !value.includes("\0")) event.id = value;
    else if (name === "retry" && /^\d+$/.test(value)) event.retry = Number(value);
  }
  event.data = data.join("\n");
  return data.length > 0 ? event : null;
}
