import { type KeyboardEvent, type ReactNode, useId } from "react";
import { cx } from "@/lib/cx";
import { whole } from "@/lib/numbers";

export interface Tab<Key extends string> {
  key: Key;
  label: ReactNode;
  /** How many things there are in it. */
  count?: number;
}

interface TabsProps<Key extends string> {
  label: string;
  tabs: readonly Tab<Key>[];
  active: Key;
  onChange: (key: Key) => void;
  children: ReactNode;
}

/** Parts of a page of which one is shown. Arrows move among them; keep the active one in the URL. */
export function Tabs<Key extends string>({ label, tabs, active, onChange, children }: TabsProps<Key>) {
  const id = useId();
  const move = (event: KeyboardEvent<HTMLElement>) => {
    const at = tabs.findIndex((tab) => tab.key === active);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const chosen = tabs[(next + tabs.length) % tabs.length];
    if (!chosen) return;
    onChange(chosen.key);
    event.currentTarget.querySelector<HTMLElement>(`[data-tab="${chosen.key}"]`)?.focus();
  };
  return (
    <div className="flex min-h-0 min-w-0 flex-1 flex-col">
      <div
        role="tablist"
        aria-label={label}
        onKeyDown={move}
        className="flex shrink-0 gap-4 overflow-x-auto border-line border-b px-4 md:px-6"
      >
        {tabs.map((tab) => (
          <button
            key={tab.key}
            type="button"
            role="tab"
            data-tab={tab.key}
            id={`${id}-${tab.key}`}
            aria-selected={tab.key === active}
            aria-controls={`${id}-panel`}
            tabIndex={tab.key === active ? 0 : -1}
            onClick={() => onChange(tab.key)}
            className={cx(
              "-mb-px flex h-9 items-center gap-1.5 whitespace-nowrap border-b-2 px-0.5 font-medium text-sm",
              tab.key === active ? "border-accent text-ink" : "border-transparent text-ink-2 hover:text-ink",
            )}
          >
            {tab.label}
            {tab.count !== undefined && (
              <span className="rounded bg-idle-soft px-1.5 text-2xs text-idle leading-4">{whole(tab.count)}</span>
            )}
          </button>
        ))}
      </div>
      <div
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={`${id}-${active}`}
        className="flex min-h-0 min-w-0 flex-1 flex-col"
      >
        {children}
      </div>
    </div>
  );
}
