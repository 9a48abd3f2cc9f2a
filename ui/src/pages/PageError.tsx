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
  return (
    <div className="max-w-2xl">
      <ErrorBox error={error} onRetry={again} />
      {!(error instanceof Problem) && (
        <p className="px-4 text-ink-3 text-xs">This is a fault of the page and not of your runs.</p>
      )}
    </div>
  );
}
