/**
 * Bounds of what one message may hold, the same in every language (docs/reference/protocol.md): more is over the limit, whatever its
 * size in bytes.
 */

/** Objects and lists inside one another. */
export const MAX_DEPTH = 200;
const MAX_ENTRIES = 5_000;
const MAX_TOKENS = 200_000;
const MAX_NAMES = 1_000;

/** By the name of a field, in every message that has it. */
export const LISTS = new Map(
  Object.entries({
    results: MAX_ENTRIES,
    steps: MAX_ENTRIES,
    lines: MAX_ENTRIES,
    tokens: MAX_TOKENS,
    in_flight: MAX_TOKENS,
    keep: MAX_TOKENS,
    release: MAX_TOKENS,
    granted: MAX_TOKENS,
    denied: MAX_TOKENS,
    versions: MAX_NAMES,
    codecs: MAX_NAMES,
    hubs: MAX_NAMES,
  }),
);

/**
 * Returns which list of this body is over its limit, if one is; members are not read.
 * @returns {string | undefined}
 */
export function excess(kind, body) {
  if (typeof body !== 'object' || body === null) return undefined;
  for (const [field, most] of LISTS) {
    const size = Array.isArray(body[field]) ? body[field].length : 0;
    if (size > most) return `${kind} has ${size} ${field}; the limit is ${most}`;
  }
  return undefined;
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Returns whether this JSON is nested too deeply, without parsing it: a parser would allocate all of it.
 * @param {Uint8Array} bytes
 */
export function isTooDeep(bytes) {
  let depth = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (byte === QUOTE) index = endOfText(bytes, index);
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1;
  }
  return false;
}

/** Returns the index of the quote that ends the text which begins here. */
function endOfText(bytes, start) {
  let index = start + 1;
  while (index < bytes.length && bytes[index] !== QUOTE) index += bytes[index] === BACKSLASH ? 2 : 1;
  return index;
}
