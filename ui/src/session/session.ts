import type { QueryClient } from "@tanstack/react-query";
import { api, call, type Schemas, setCsrfToken } from "@/api/client";
import { sessionQuery } from "@/api/queries";

/** Signs this browser in with a token, or with the code of a link. */
export async function signIn(client: QueryClient, secret: Schemas["SignIn"]): Promise<Schemas["Session"]> {
  const session = await call(api.POST("/api/v1/session", { body: secret }));
  setCsrfToken(session.csrf_token);
  client.setQueryData(sessionQuery.queryKey, session);
  // Everything is read again, as the new caller.
  void client.invalidateQueries({ predicate: (query) => query.queryKey[0] !== "session" });
  return session;
}

/** Ends the session of this browser, in all of its tabs. */
export async function signOut(client: QueryClient): Promise<void> {
  await api.DELETE("/api/v1/session");
  setCsrfToken(null);
  client.removeQueries({ predicate: (query) => query.queryKey[0] !== "session" });
  await client.resetQueries({ queryKey: sessionQuery.queryKey });
}

/** True if this browser has a session that holds. */
export async function isSignedIn(client: QueryClient): Promise<boolean> {
  try {
    await client.fetchQuery({ ...sessionQuery, staleTime: 0, retry: false });
    return true;
  } catch {
    return false;
  }
}
