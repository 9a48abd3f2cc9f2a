import { type ReactNode, useEffect, useId, useRef } from "react";
import { Button } from "./Button";

interface PanelProps {
  title: ReactNode;
  onClose: () => void;
  children: ReactNode;
  aside?: ReactNode;
}

/** Shows more about what is chosen in the page beside it, which stays usable; on phones it covers the page. */
export function Panel({ title, onClose, children, aside }: PanelProps) {
  const id = useId();
  const ref = useRef<HTMLElement>(null);
  useEffect(() => ref.current?.focus({ preventScroll: true }), []);
  return (
    <aside
      ref={ref}
      tabIndex={-1}
      aria-labelledby={id}
      onKeyDown={(event) => {
        if (event.key === "Escape" && !event.defaultPrevented) onClose();
      }}
      className="fixed inset-0 z-20 flex animate-[slide-in_140ms] flex-col bg-surface outline-none md:static md:z-auto md:h-full md:w-[30rem] md:shrink-0 md:border-line md:border-l xl:w-[36rem]"
    >
      <header className="flex items-center justify-between gap-3 border-line border-b py-2 pr-2 pl-4">
        <h2 id={id} className="foreign min-w-0 truncate font-semibold text-base">
          {title}
        </h2>
        <div className="flex items-center gap-1.5">
          {aside}
          <Button look="quiet" small icon="close" label="Close" onClick={onClose} />
        </div>
      </header>
      <div className="min-h-0 flex-1 overflow-auto">{children}</div>
    </aside>
  );
}
