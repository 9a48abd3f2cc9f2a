import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef } from "react";
import { type Schemas, setCsrfToken, whenSignedOut } from "@/api/client";
import { isSignedOut, Problem } from "@/api/problem";
import { sessionQuery } from "@/api/queries";
import { ErrorBox, Skeleton } from "@/components";
import { Brand } from "@/shell/Brand";
import { SignIn } from "./SignInPage";

/** Shows its children to a viewer who is signed in. Others sign in at the same address, and stay there. */
export function Gate({ children }: { children: (session: Schemas["Session"]) => ReactNode }) {
  const client = useQueryClient();
  const session = useQuery({
    ...sessionQuery,
    retry: (_, error) => !isSignedOut(error),
    retryDelay: (attempt) => Math.min(500 * 2 ** attempt, 5_000),
  });
  const wasIn = useRef(false);

  useEffect(() => {
    whenSignedOut(() => void client.invalidateQueries({ queryKey: sessionQuery.queryKey }));
  }, [client]);

  const csrfToken = session.data?.csrf_token;
  const denied = isSignedOut(session.error);
  useEffect(() => setCsrfToken(csrfToken), [csrfToken]);
  useEffect(() => {
    if (session.data && !denied) wasIn.current = true;
  }, [session.data, denied]);

  if (denied) return <SignIn reason={wasIn.current ? reasonOf(session.error) : null} />;
  if (session.data) return children(session.data);
  return (
    <main aria-busy="true" className="grid min-h-dvh place-items-center p-6">
      <div className="grid w-full max-w-md justify-items-center gap-4">
        <Brand />
        {session.failureReason ? <ErrorBox error={session.failureReason} /> : <Skeleton className="w-24" />}
      </div>
    </main>
  );
}

function reasonOf(error: unknown): string {
  if (error instanceof Problem && error.code !== "no_token")
    return `${error.message}. Sign in to go on where you were.`;
  return "You were signed out. Sign in to go on where you were.";
}
