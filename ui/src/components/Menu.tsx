import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { cx } from "@/lib/cx";
import { Button, type ButtonProps } from "./Button";
import { Icon, type IconName } from "./Icon";

export interface MenuItem {
  label: ReactNode;
  icon?: IconName;
  onSelect: () => void;
  danger?: boolean;
  disabled?: boolean;
  /** True for the one that holds, in a menu that chooses among several. */
  checked?: boolean;
}

interface MenuProps extends Omit<ButtonProps, "onClick"> {
  items: readonly MenuItem[];
  /** The side of the button that the list begins at. */
  align?: "start" | "end";
  up?: boolean;
}

/** A button that opens a list of actions. Arrows move, Enter chooses, Escape closes. */
export function Menu({ items, align = "end", up = false, ...button }: MenuProps) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const id = useId();

  useEffect(() => {
    if (!open) return;
    root.current?.querySelector<HTMLElement>("[role^=menuitem]:not(:disabled)")?.focus();
    const away = (event: PointerEvent) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    addEventListener("pointerdown", away);
    return () => removeEventListener("pointerdown", away);
  }, [open]);

  const close = () => {
    setOpen(false);
    root.current?.querySelector("button")?.focus();
  };
  const move = (event: KeyboardEvent) => {
    const choices = [...(root.current?.querySelectorAll<HTMLElement>("[role^=menuitem]:not(:disabled)") ?? [])];
    const at = choices.indexOf(document.activeElement as HTMLElement);
    const step = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: choices.length - 1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      choices[(step + choices.length) % choices.length]?.focus();
    } else if (event.key === "Escape" || event.key === "Tab") {
      if (event.key === "Escape") event.preventDefault();
      close();
    }
  };

  return (
    <div ref={root} className="relative">
      <Button {...button} aria-haspopup="menu" aria-expanded={open} aria-controls={id} onClick={() => setOpen(!open)} />
      {open && (
        <div
          id={id}
          role="menu"
          tabIndex={-1}
          onKeyDown={move}
          className={cx(
            "absolute z-30 min-w-44 animate-[rise_100ms] rounded-lg border border-line bg-raised p-1 shadow-pop",
            up ? "bottom-full mb-1" : "top-full mt-1",
            align === "end" ? "right-0" : "left-0",
          )}
        >
          {items.map((item, index) => (
            <button
              key={index}
              type="button"
              role={item.checked === undefined ? "menuitem" : "menuitemradio"}
              aria-checked={item.checked}
              disabled={item.disabled}
              onClick={() => {
                close();
                item.onSelect();
              }}
              className={cx(
                "flex w-full items-center gap-2 rounded px-2 py-1.5 text-left text-sm outline-none focus:bg-hover disabled:opacity-50 hover:bg-hover",
                item.danger ? "text-bad" : "text-ink",
              )}
            >
              {item.icon && <Icon name={item.icon} size={15} />}
              <span className="min-w-0 flex-1 truncate">{item.label}</span>
              {item.checked && <Icon name="check" size={14} />}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
