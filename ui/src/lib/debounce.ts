import { useEffect, useRef, useState } from "react";

/** Returns a value once it has been the same for some time, such as what is typed into a filter. */
export function useSettled<T>(value: T, milliseconds = 200): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return settled;
}

/**
 * Returns what a field shows, and how it changes. The owner of the value, such as the address of the page, learns of what
 * is typed once it has been the same for some time; what the owner changes by itself comes into the field.
 */
export function useTyped(
  value: string | undefined,
  onChange: ((value: string | undefined) => void) | undefined,
  milliseconds = 300,
): [typed: string, setTyped: (text: string) => void] {
  const [typed, setTyped] = useState(value ?? "");
  const latest = useRef(onChange);
  /** What the owner was told last: what comes back from it is not taken for a change of its own. */
  const told = useRef(value);
  useEffect(() => {
    latest.current = onChange;
  });
  useEffect(() => {
    if (value === told.current) return;
    told.current = value;
    setTyped(value ?? "");
  }, [value]);
  useEffect(() => {
    const timer = setTimeout(() => {
      const text = typed || undefined;
      if (text === told.current) return;
      told.current = text;
      latest.current?.(text);
    }, milliseconds);
    return () => clearTimeout(timer);
  }, [typed, milliseconds]);
  return [typed, setTyped];
}
