const UNITS = ["B", "kB", "MB", "GB"];

/** Returns a size in few characters, such as "1.4 MB". */
export function bytes(size: number): string {
  let value = size;
  let unit = 0;
  while (value >= 1_000 && unit < UNITS.length - 1) {
    value /= 1_000;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}
