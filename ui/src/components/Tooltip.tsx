import { cloneElement, type ReactElement, type ReactNode, useId, useRef, useState } from "react";
import { createPortal } from "react-dom";

interface TriggerProps {
  "aria-describedby"?: string;
  onPointerEnter?: (event: React.PointerEvent<HTMLElement>) => void;
  onPointerLeave?: () => void;
  onFocus?: (event: React.FocusEvent<HTMLElement>) => void;
  onBlur?: () => void;
}

const DELAY = 250;

/** Says more about an element while the pointer is over it or it has the focus. Its child takes the handlers. */
export function Tooltip({ text, children }: { text: ReactNode; children: ReactElement<TriggerProps> }) {
  const id = useId();
  const [place, setPlace] = useState<{ x: number; y: number; below: boolean } | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);

  const show = (element: HTMLElement, delay: number) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      const box = element.getBoundingClientRect();
      const below = box.top < 60;
      const x = Math.min(Math.max(box.left + box.width / 2, 90), innerWidth - 90);
      setPlace({ x, y: below ? box.bottom + 6 : box.top - 6, below });
    }, delay);
  };
  const hide = () => {
    clearTimeout(timer.current);
    setPlace(null);
  };

  return (
    <>
      {cloneElement(children, {
        "aria-describedby": place ? id : undefined,
        onPointerEnter: (event) => show(event.currentTarget, DELAY),
        onPointerLeave: hide,
        onFocus: (event) => show(event.currentTarget, 0),
        onBlur: hide,
      })}
      {place &&
        createPortal(
          <div
            id={id}
            role="tooltip"
            style={{ left: place.x, top: place.y, transform: `translate(-50%, ${place.below ? "0" : "-100%"})` }}
            className="foreign pointer-events-none fixed z-50 max-w-72 animate-[appear_100ms] rounded-md border border-line-strong bg-raised px-2 py-1 text-ink text-xs shadow-pop"
          >
            {text}
          </div>,
          document.querySelector("dialog[open]") ?? document.body,
        )}
    </>
  );
}
