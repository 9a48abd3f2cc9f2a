import { ButtonLink, EmptyState } from "@/components";
import { useTitle } from "@/lib/title";

/** There is no page at this address. */
export function NotFoundPage() {
  useTitle("Not found");
  return (
    <div className="grid flex-1 place-items-center">
      <EmptyState whole icon="search" title="There is no page at this address">
        <p className="mb-3">The link may be old, or a part of it is missing.</p>
        <ButtonLink to="/">Go to the home page</ButtonLink>
      </EmptyState>
    </div>
  );
}
