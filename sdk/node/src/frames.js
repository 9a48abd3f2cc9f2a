/** Packs a message into four frames (kind, session, body as JSON, check) and unpacks it. */

import { MAX_DEPTH, excess, isTooDeep } from './limits.js';
import { MESSAGES } from './messages.js';

export const CODEC = 'json';
const MAX_KIND_LENGTH = 32;
const MAX_SESSION_LENGTH = 64;
const ASCII = /^[\x00-\x7f]*$/;

/** Thrown for frames that are not a message. The session with their sender ends. */
export class Malformed extends Error {}

/** Thrown for a message with a list over its limit. */
export class OverLimit extends Error {}

/** Thrown for a well-formed message of an unknown kind. */
export class UnknownKind extends Error {
  constructor(kind, session) {
    super(`there is no message '${kind}'`);
    this.kind = kind;
    this.session = session;
  }
}

/** @returns {Buffer[]} */
export function pack(kind, body, session) {
  const parts = [Buffer.from(kind), Buffer.from(session), Buffer.from(JSON.stringify(body))];
  return [...parts, checkOf(parts)];
}

/**
 * Returns the message of these frames. Throws Malformed, OverLimit or UnknownKind, never anything else.
 * @param {Uint8Array[]} frames
 * @returns {{kind: string, session: string, body: any}}
 */
export function unpack(frames) {
  const { kind, session } = envelope(frames);
  const shape = MESSAGES.get(kind);
  if (shape === undefined) throw new UnknownKind(kind, session);
  const body = decode(kind, frames[2]);
  const tooLong = excess(kind, body);
  if (tooLong !== undefined) throw new OverLimit(tooLong);
  const problem = shape(body, kind);
  if (problem !== undefined) throw new Malformed(problem);
  return { kind, session, body };
}

function envelope(frames) {
  if (frames.length !== 4) throw new Malformed(`${frames.length} frames instead of 4`);
  if (!checkOf(frames.slice(0, 3)).equals(frames[3])) throw new Malformed('the check does not fit');
  if (frames[0].length === 0 || frames[0].length > MAX_KIND_LENGTH || frames[1].length > MAX_SESSION_LENGTH) {
    throw new Malformed('kind or session is empty or too long');
  }
  const [kind, session] = [frames[0], frames[1]].map((frame) => Buffer.from(frame).toString('latin1'));
  if (!ASCII.test(kind + session)) throw new Malformed('kind and session are ASCII');
  return { kind, session };
}

function decode(kind, bytes) {
  if (isTooDeep(bytes)) throw new Malformed(`${kind} is nested more than ${MAX_DEPTH} levels deep`);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (error) {
    throw new Malformed(`${kind}: ${error.message}`);
  }
}

/** Returns the checksum of a message, which detects changed bytes. */
export function checkOf(parts) {
  return Buffer.from(crc32(parts).toString(16).padStart(8, '0'));
}

const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

function crc32(parts) {
  let value = -1;
  for (const part of parts) {
    for (let index = 0; index < part.length; index += 1) value = TABLE[(value ^ part[index]) & 0xff] ^ (value >>> 8);
  }
  return (value ^ -1) >>> 0;
}
