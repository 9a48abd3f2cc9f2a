const PREFIX = "turnout.";

/** Returns what this browser remembers under a name; null without it, or where storage is off. */
export function remembered(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

/** Has this browser remember a value. Without storage it is forgotten with the page. */
export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // Private windows and full storage refuse: nothing depends on it.
  }
}
