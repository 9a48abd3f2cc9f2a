import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { Button, Card, Code, ErrorBox, Input } from "@/components";
import { Brand } from "@/shell/Brand";
import { isSignedIn, signIn } from "./session";

interface SignInProps {
  /** Why the viewer is asked; nothing for one who was not signed in before. */
  reason?: string | null;
  onDone?: () => void;
}

/** Takes the code from the address, so that neither the history nor a copied link has it. */
function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code !== null) history.replaceState(history.state, "", location.pathname + location.search);
  return code;
}

/** Asks for a token. A link with a code signs in by itself. */
export function SignIn({ reason, onDone }: SignInProps) {
  const client = useQueryClient();
  const [token, setToken] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const code = useRef<string | null | undefined>(undefined);

  const enter = async (secret: { token: string } | { code: string }) => {
    setBusy(true);
    setError(null);
    try {
      await signIn(client, secret);
      onDone?.();
    } catch (problem) {
      // The code of a link that was used before is no trouble to one who is signed in.
      if ("code" in secret && (await isSignedIn(client))) return onDone?.();
      setError(problem);
      setBusy(false);
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const given = token.trim();
    setToken("");
    if (given) void enter({ token: given });
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: the code of the address is taken once
  useEffect(() => {
    if (code.current === undefined) {
      code.current = takeCode();
      if (code.current !== null) void enter({ code: code.current });
    }
  }, []);

  useEffect(() => {
    document.title = "Sign in · Turnout";
  }, []);

  return (
    <main className="grid min-h-dvh place-items-center p-4">
      <div className="grid w-full max-w-sm gap-5">
        <div className="justify-self-center">
          <Brand />
        </div>
        <Card>
          <form onSubmit={submit} className="grid gap-3.5">
            <div className="grid gap-1">
              <h1 className="font-semibold text-lg">Sign in</h1>
              <p className="text-ink-2 text-sm">{reason ?? "With an access token of this server."}</p>
            </div>
            <Input
              label="Token"
              type="password"
              autoComplete="current-password"
              required
              autoFocus
              placeholder="to_…"
              value={token}
              onChange={(event) => setToken(event.target.value)}
            />
            <Button type="submit" look="primary" busy={busy}>
              Sign in
            </Button>
          </form>
          {error !== null && (
            <div className="-mx-3.5 -mb-3.5">
              <ErrorBox error={error} />
            </div>
          )}
        </Card>
        <p className="text-center text-ink-3 text-xs">
          <Code>turnout tokens create NAME --role viewer</Code> makes a token.
        </p>
      </div>
    </main>
  );
}
