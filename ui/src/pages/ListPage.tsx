import type { ReactNode } from "react";
import { Card, ErrorBox, PageHeader } from "@/components";
import { useTitle } from "@/lib/title";

interface ListPageProps {
  title: string;
  about?: ReactNode;
  actions?: ReactNode;
  /** Fields that choose among the rows. */
  filters?: ReactNode;
  /** Shown instead of the list, if there is nothing to show beside it. */
  error?: unknown;
  onRetry?: () => void;
  children: ReactNode;
}

/** A page that is mainly one list. */
export function ListPage({ title, about, actions, filters, error, onRetry, children }: ListPageProps) {
  useTitle(title);
  return (
    <>
      <PageHeader title={title} about={about} actions={actions} />
      {filters && <div className="flex flex-wrap items-center gap-2 px-4 pb-3 md:px-6">{filters}</div>}
      <div className="px-4 pb-6 md:px-6">
        {error ? (
          <Card flush>
            <ErrorBox error={error} onRetry={onRetry} />
          </Card>
        ) : (
          <Card flush>{children}</Card>
        )}
      </div>
    </>
  );
}
