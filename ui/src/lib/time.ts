const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];
const SHORT: Record<string, string> = { year: "y", month: "mo", day: "d", hour: "h", minute: "m" };

/** Returns a moment as seen from now, such as "4m ago" or "in 2h". Times are seconds since 1970. */
export function relative(at: number, now: number): string {
  const distance = at - now;
  const size = Math.abs(distance);
  if (size < 5) return "now";
  const [unit, length] = UNITS.find(([, each]) => size >= each) ?? ["second", 1];
  const text = `${Math.floor(size / length)}${SHORT[unit] ?? "s"}`;
  return distance < 0 ? `${text} ago` : `in ${text}`;
}

const EXACT = new Intl.DateTimeFormat(undefined, {
  year: "numeric",
  month: "short",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  timeZoneName: "short",
});

/** Returns a moment with its date, milliseconds and zone, in the zone of the viewer. */
export function exact(at: number): string {
  return EXACT.format(at * 1_000);
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** Returns the time of day of a moment. */
export function clock(at: number): string {
  return CLOCK.format(at * 1_000);
}

/** Returns a formatter of hours and minutes: "14:30", or "02:30 PM" where people write it so. */
export function minutesIn(locale?: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit" });
}

const MINUTES = minutesIn();

/** Returns the time of day of a moment without its seconds. */
export function hourAndMinute(at: number): string {
  return MINUTES.format(at * 1_000);
}

/** Returns a length of time in at most two units, such as "840ms", "3.2s", "4m 10s" or "2d 3h". */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return "–";
  const size = Math.max(0, seconds);
  if (size < 0.001) return "0ms";
  if (size < 0.9995) return `${Math.round(size * 1_000)}ms`;
  if (size < 59.95) return `${size < 10 ? trimmed(size.toFixed(2)) : trimmed(size.toFixed(1))}s`;
  const whole = Math.round(size);
  if (whole < 3_600) return two(Math.floor(whole / 60), "m", whole % 60, "s");
  if (whole < 86_400) return two(Math.floor(whole / 3_600), "h", Math.floor((whole % 3_600) / 60), "m");
  return two(Math.floor(whole / 86_400), "d", Math.floor((whole % 86_400) / 3_600), "h");
}

function trimmed(text: string): string {
  return text.replace(/\.?0+$/, "");
}

function two(first: number, unit: string, second: number, smaller: string): string {
  return second === 0 ? `${first}${unit}` : `${first}${unit} ${second}${smaller}`;
}
