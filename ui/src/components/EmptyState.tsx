import type { ReactNode } from "react";
import { Icon, type IconName } from "./Icon";

interface EmptyStateProps {
  icon?: IconName;
  title: string;
  /** The title is that of the page. */
  whole?: boolean;
  children?: ReactNode;
}

/** Says that there is nothing, and what the next step is. */
export function EmptyState({ icon, title, whole, children }: EmptyStateProps) {
  const Title = whole ? "h1" : "p";
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-9 text-center">
      {icon && (
        <span className="mb-1 grid size-9 place-items-center rounded-lg border border-line bg-sunken text-ink-3">
          <Icon name={icon} size={18} />
        </span>
      )}
      <Title className="font-medium text-sm">{title}</Title>
      {children && <div className="max-w-md text-ink-2 text-xs">{children}</div>}
    </div>
  );
}

/** A command that can be typed into a terminal. */
export function Code({ children }: { children: ReactNode }) {
  return <code className="foreign rounded bg-idle-soft px-1 py-0.5 font-mono text-[0.92em]">{children}</code>;
}
