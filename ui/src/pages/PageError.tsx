import { useRouter } from "@tanstack/react-router";
import { Problem } from "@/api/problem";
import { Button, EmptyState, ErrorBox } from "@/components";

/** True if a part of this page is gone from the server: it has another version of the interface. */
function isOtherVersion(error: unknown): boolean {
  return error instanceof TypeError && /import|module/i.test(error.message);
}

/** Shown in the place of a page that failed; the navigation around it works. */
export function PageError({ error, reset }: { error: unknown; reset: () => void }) {
  const router = useRouter();
  if (isOtherVersion(error)) {
    return (
      <EmptyState icon="refresh" title="This page has to be loaded again">
        <p className="mb-3">A part of it could not be loaded: the server is away, or has another version by now.</p>
        <Button look="primary" onClick={() => location.reload()}>
          Reload
        </Button>
      </EmptyState>
    );
  }
  const again = () => {
    reset();
    void router.invalidate();
  };
  if (error instanceof Problem) {
    return (
      <div className="max-w-2xl">
        <ErrorBox error={error} onRetry={again} />
      </div>
    );
  }
  return (
    <EmptyState whole icon="alert" title="This page cannot be shown">
      <p className="mb-1">
        It does not understand what the server has answered. This is a fault of the page and not of your runs.
      </p>
      <p className="foreign mb-3 font-mono text-2xs">{error instanceof Error ? error.message : String(error)}</p>
      <Button onClick={again}>Try again</Button>
    </EmptyState>
  );
}
