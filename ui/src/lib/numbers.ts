const WHOLE = new Intl.NumberFormat("en-US");
const COMPACT = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

/** Returns a number with separators, such as "12,400". */
export function whole(value: number): string {
  return WHOLE.format(value);
}

/** Returns a number in few characters, such as "12.4K". */
export function compact(value: number): string {
  return COMPACT.format(value);
}

/** Returns a count with its noun: `counted(1, "run")` is "1 run", `counted(2, "run")` is "2 runs". */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${whole(count)} ${count === 1 ? noun : plural}`;
}

/** Returns a share from 0 to 1 as a whole number of percent. */
export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
