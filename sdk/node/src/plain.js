/** What of a handler's return value can travel? JSON values, and others that have one obvious form. */

import { NotJson } from './errors.js';

const DEEPEST = 100;

/**
 * A copy of this value that is JSON and nothing else.
 *
 *   plain({ at: new Date(0), tags: new Set(['new']) })   // { at: '1970-01-01T00:00:00.000Z', tags: ['new'] }
 */
export function plain(value, depth = 0) {
  if (depth > DEEPEST) throw new NotJson(`the handler returned values nested more than ${DEEPEST} deep`);
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

/** Text that every UTF-8 decoder takes. */
export const readable = (text) => String(text).replace(/\p{Surrogate}/gu, '\ufffd');

function composite(value, depth) {
  if (typeof value.toJSON === 'function') return plain(value.toJSON(), depth + 1);
  if (Array.isArray(value) || value instanceof Set) return Array.from(value, (each) => plain(each, depth + 1));
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  const kept = entries.filter(([, each]) => each !== undefined);
  return Object.fromEntries(kept.map(([name, each]) => [readable(name), plain(each, depth + 1)]));
}

function refuse(what) {
  throw new NotJson(`the handler returned ${what}, which is no JSON value`);
}
