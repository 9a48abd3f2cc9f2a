import createClient, { type Middleware } from "openapi-fetch";
import { written } from "@/lib/json";
import { ROOT } from "@/lib/page";
import { problemOf } from "./problem";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];

const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);

let csrfToken: string | null = null;
let onSignedOut: () => void = () => {};

/** Sets what changes carry beside the cookie; null for callers without one. */
export function setCsrfToken(token: string | null | undefined): void {
  csrfToken = token ?? null;
}

/** Sets what happens when an answer says that the session is over. */
export function whenSignedOut(call: () => void): void {
  onSignedOut = call;
}

const session: Middleware = {
  onRequest({ request }) {
    if (csrfToken !== null && !SAFE.has(request.method)) request.headers.set("X-CSRF-Token", csrfToken);
    return request;
  },
  async onResponse({ response, schemaPath }) {
    if (response.ok) return response;
    if (response.status === 401 && schemaPath !== "/api/v1/session") onSignedOut();
    throw await problemOf(response);
  },
};

/** The API, by the paths of its OpenAPI document. An answer that is no success is thrown as a Problem. */
export const api = createClient<paths>({ baseUrl: ROOT || "/", credentials: "same-origin", bodySerializer: written });
api.use(session);

/** Returns the body of an answer: `call(api.GET("/api/v1/runs", { signal }))`. */
export async function call<T>(answer: Promise<{ data?: T; error?: unknown }>): Promise<T> {
  return (await answer).data as T;
}
