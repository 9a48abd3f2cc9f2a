import type { components } from "./schema";

export type ProblemDocument = components["schemas"]["Problem"];

/** An answer that is no success, in the server's own words. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly document: Partial<ProblemDocument>;

  constructor(status: number, document: Partial<ProblemDocument>) {
    super(document.detail || document.title || `the server answered with ${status}`);
    this.name = "Problem";
    this.status = status;
    this.code = document.code ?? `http_${status}`;
    this.document = document;
  }
}

/** Reads the problem document of an answer; one of a proxy in between may be no JSON. */
export async function problemOf(answer: Response): Promise<Problem> {
  try {
    const found: unknown = await answer.json();
    if (typeof found === "object" && found !== null) return new Problem(answer.status, found as ProblemDocument);
  } catch {
    // What is no JSON says nothing that the status does not.
  }
  return new Problem(answer.status, { title: answer.statusText || `HTTP ${answer.status}` });
}

/** True if the server could not be reached, or cannot answer for now: the request may be repeated. */
export function isPassing(error: unknown): boolean {
  if (error instanceof Problem) return error.status === 429 || error.status >= 500;
  return error instanceof TypeError;
}

/** True if the caller has to sign in. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof Problem && error.status === 401;
}
