import { Problem } from "@/api/problem";
import { Button } from "./Button";
import { Icon } from "./Icon";

/** Shows what went wrong, in the server's own words, with its code and the id that the server's log has. */
export function ErrorBox({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const problem = error instanceof Problem ? error : null;
  const requestId = problem?.document.request_id;
  return (
    <div role="alert" className="m-3.5 flex gap-3 rounded-md border border-bad/30 bg-bad-soft p-3 text-sm">
      <span className="mt-0.5 text-bad">
        <Icon name="alert" />
      </span>
      <div className="grid min-w-0 gap-1">
        <p className="foreign font-medium">{sentence(error)}</p>
        <p className="flex flex-wrap gap-x-3 font-mono text-2xs text-ink-2">
          <span>{problem?.code ?? "unreachable"}</span>
          {requestId && <span>request {requestId}</span>}
        </p>
        {onRetry && (
          <div className="mt-1">
            <Button small icon="refresh" onClick={onRetry}>
              Try again
            </Button>
          </div>
        )}
      </div>
    </div>
  );
}

function sentence(error: unknown): string {
  if (error instanceof Problem) return error.message;
  if (error instanceof TypeError) return "The server cannot be reached.";
  return error instanceof Error ? error.message : String(error);
}
