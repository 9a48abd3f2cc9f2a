import { type ReactNode, useEffect, useId, useRef } from "react";
import { cx } from "@/lib/cx";
import { Button } from "./Button";

interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: ReactNode;
  children: ReactNode;
  /** Buttons at its end. */
  actions?: ReactNode;
  wide?: boolean;
}

const BACKDROP = "backdrop:bg-black/40 backdrop:backdrop-blur-[1px]";

/** Asks or shows something above the page. The browser keeps the focus inside, and Escape closes it. */
export function Dialog({ open, onClose, title, children, actions, wide = false }: DialogProps) {
  return (
    <Modal
      open={open}
      onClose={onClose}
      title={title}
      actions={actions}
      className={cx(
        "m-auto max-h-[85dvh] w-[calc(100vw-2rem)] animate-[rise_120ms] rounded-xl",
        wide ? "max-w-3xl" : "max-w-lg",
      )}
    >
      {children}
    </Modal>
  );
}

/** Shows more about a thing at the side of the page; on phones over all of it. */
export function Drawer({ open, onClose, title, children, actions, wide = false }: DialogProps) {
  return (
    <Modal
      open={open}
      onClose={onClose}
      title={title}
      actions={actions}
      className={cx(
        "mt-0 mr-0 mb-0 ml-auto h-dvh max-h-none w-full max-w-none animate-[slide-in_140ms] border-y-0 border-r-0",
        wide ? "sm:max-w-3xl" : "sm:max-w-xl",
      )}
    >
      {children}
    </Modal>
  );
}

function Modal({
  open,
  onClose,
  title,
  children,
  actions,
  className,
}: Omit<DialogProps, "wide"> & { className: string }) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();

  useEffect(() => {
    const dialog = ref.current;
    if (dialog === null) return;
    if (open && !dialog.open) {
      dialog.showModal();
      firstOf(dialog)?.focus();
    }
    if (!open && dialog.open) dialog.close();
  }, [open]);

  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it too
    <dialog
      ref={ref}
      aria-labelledby={id}
      onClose={onClose}
      onClick={(event) => event.target === ref.current && onClose()}
      className={cx("flex-col border border-line bg-raised p-0 shadow-pop open:flex", BACKDROP, className)}
    >
      {open && (
        <>
          <header className="flex items-center justify-between gap-3 border-line border-b py-2.5 pr-2.5 pl-4">
            <h2 id={id} className="foreign min-w-0 font-semibold text-base">
              {title}
            </h2>
            <Button look="quiet" small icon="close" label="Close" onClick={onClose} />
          </header>
          <div data-content="" tabIndex={-1} className="min-h-0 flex-1 overflow-auto p-4 outline-none">
            {children}
          </div>
          {actions && (
            <footer className="flex flex-wrap justify-end gap-2 border-line border-t bg-surface px-4 py-3">
              {actions}
            </footer>
          )}
        </>
      )}
    </dialog>
  );
}

/** Returns what gets the focus first: the element that is marked, the first field, else the content. */
function firstOf(dialog: HTMLElement): HTMLElement | null {
  const wanted = ["[data-first]", "form :is(input, select, textarea)", "[data-content]"];
  return wanted.map((each) => dialog.querySelector<HTMLElement>(each)).find((each) => each !== null) ?? null;
}
