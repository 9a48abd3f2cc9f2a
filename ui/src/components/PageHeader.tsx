import type { ReactNode } from "react";

interface PageHeaderProps {
  title: ReactNode;
  /** A sentence, a state, a path back. */
  about?: ReactNode;
  actions?: ReactNode;
}

/** The head of a page: its name, and what can be done there. */
export function PageHeader({ title, about, actions }: PageHeaderProps) {
  return (
    <header className="flex shrink-0 flex-wrap items-center justify-between gap-x-4 gap-y-2 px-4 pt-4 pb-3 md:px-6">
      <div className="grid min-w-0 gap-0.5">
        <h1 className="foreign min-w-0 font-semibold text-xl">{title}</h1>
        {about && <div className="text-ink-2 text-xs">{about}</div>}
      </div>
      {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
    </header>
  );
}
