/** Converts a handler's return value to JSON values; a value without an obvious form is refused. */

import { NotJson } from './errors.js';

const MAX_DEPTH = 100;

/**
 * Returns a copy of this value in JSON values.
 *
 *   plain({ at: new Date(0), tags: new Set(['new']) })   // { at: '1970-01-01T00:00:00.000Z', tags: ['new'] }
 */
export function plain(value, depth = 0) {
  if (depth > MAX_DEPTH) throw new NotJson(`the handler returned values nested more than ${MAX_DEPTH} deep`);
  switch (typeof value) {
    case 'string':
      return readable(value);
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) ? value : refuse(String(value));
    case 'undefined':
      return null;
    case 'object':
      return value === null ? null : composite(value, depth);
    default:
      return refuse(`a ${typeof value}`);
  }
}

/** Returns text without lone surrogates, which UTF-8 cannot encode. */
export const readable = (text) => String(text).replace(/\p{Surrogate}/gu, '\ufffd');

function composite(value, depth) {
  if (typeof value.toJSON === 'function') return plain(value.toJSON(), depth + 1);
  if (Array.isArray(value) || value instanceof Set) return Array.from(value, (each) => plain(each, depth + 1));
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  const kept = entries.filter(([, each]) => each !== undefined);
  return Object.fromEntries(kept.map(([name, each]) => [readable(name), plain(each, depth + 1)]));
}

function refuse(what) {
  throw new NotJson(`the handler returned ${what}, which is not a JSON value`);
}
