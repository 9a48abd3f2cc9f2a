/** Reads the keys of a worker from options, the environment, or a file of `turnout keys generate`. */

import { createPrivateKey, createPublicKey } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';

import { ConfigurationError } from './errors.js';

const NAMES = ['serverKey', 'publicKey', 'secretKey'];
const SERVER = 'TURNOUT_CURVE_SERVER_KEY';
const PUBLIC = 'TURNOUT_CURVE_PUBLIC_KEY';
const SECRET = 'TURNOUT_CURVE_SECRET_KEY';
const FILE = 'TURNOUT_CURVE_KEY_FILE';
const Z85 = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#';
const Z85_KEY = /^[0-9A-Za-z.\-:+=^!/*?&<>()[\]{}@%$#]{40}$/;
const LINE = /^\s*(public|secret)-key\s*=\s*["']?([^\s"']+)["']?\s*$/;
/** What comes before the 32 bytes of an X25519 key in its DER encodings (RFC 8410). */
const PRIVATE_DER = Buffer.from('302e020100300506032b656e04220420', 'hex');
const PUBLIC_DER_BYTES = 12;
/** Group and others may do nothing with a file that holds a secret. */
const OTHERS = 0o077;

/** Secret keys that were removed from the environment of this process, by their public halves. */
const taken = new Map();

/**
 * Returns the keys, or null if there are none. Only the hub's key may come from elsewhere than the pair.
 * @param {import('../index.js').WorkerOptions['curve']} given
 */
export function keys(given, env, logger) {
  const environment = variables(env);
  const pairGiven = given?.publicKey || given?.secretKey || given?.keyFile;
  const from = pairGiven ? given : environment;
  const serverKey = given?.serverKey || environment.serverKey;
  const found = from.keyFile
    ? { serverKey, ...ownPair(from, logger) }
    : { serverKey, publicKey: from.publicKey, secretKey: from.secretKey };
  const missing = NAMES.filter((name) => !found[name]);
  if (missing.length === NAMES.length) return null;
  if (missing.length > 0) throw new ConfigurationError(`CURVE needs all three keys; missing: ${missing.join(', ')}`);
  const bad = NAMES.filter((name) => !Z85_KEY.test(found[name]));
  if (bad.length > 0) throw new ConfigurationError(`${bad.join(', ')} must be 40 characters of Z85 text`);
  return found;
}

/**
 * Returns the keys of the environment, and removes the secret key from it: child processes inherit the environment,
 * and may print it.
 */
function variables(env) {
  const found = { serverKey: env[SERVER], publicKey: env[PUBLIC], secretKey: env[SECRET], keyFile: env[FILE] };
  if (env !== process.env) return found;
  delete process.env[SECRET];
  if (!found.publicKey) return found;
  if (found.secretKey) taken.set(found.publicKey, found.secretKey);
  return { ...found, secretKey: taken.get(found.publicKey) };
}

/** Returns the pair of a file. Its halves must belong together, and other users ought not to read it. */
function ownPair({ keyFile, publicKey, secretKey }, logger) {
  if (publicKey || secretKey) {
    throw new ConfigurationError('a key file and a public or secret key are both there: a worker has one pair of keys');
  }
  const found = readPair(keyFile);
  if (publicHalf(found.secretKey) !== found.publicKey) {
    throw new ConfigurationError(
      `the halves in the key file '${keyFile}' do not belong together: make a new pair with \`turnout keys generate\``,
    );
  }
  if ((statSync(keyFile).mode & OTHERS) !== 0) {
    logger(`others on this machine can read ${keyFile}, which holds a secret key: chmod 600 it`);
  }
  return found;
}

function readPair(file) {
  let text;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    throw new ConfigurationError(`the key file '${file}' cannot be read: ${error.message}`);
  }
  const found = {};
  for (const line of text.split(/\r?\n/)) {
    const [, half, key] = LINE.exec(line) ?? [];
    if (half !== undefined) found[half] = key;
  }
  for (const half of ['public', 'secret']) {
    if (found[half] === undefined) {
      throw new ConfigurationError(
        `the key file '${file}' has no ${half} key: name the file with both halves, as \`turnout keys generate\` makes it`,
      );
    }
    if (!Z85_KEY.test(found[half])) {
      throw new ConfigurationError(`the ${half} key in '${file}' is none: a key has 40 characters of Z85`);
    }
  }
  return { publicKey: found.public, secretKey: found.secret };
}

/** Returns the public half of a secret key, both as Z85 text: the package zeromq does not export the call. */
function publicHalf(secret) {
  const key = createPrivateKey({ key: Buffer.concat([PRIVATE_DER, decode(secret)]), format: 'der', type: 'pkcs8' });
  return encode(createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(PUBLIC_DER_BYTES));
}

/** Z85 (ZeroMQ RFC 32): five characters for four bytes. */
function decode(text) {
  const bytes = Buffer.alloc((text.length / 5) * 4);
  for (let at = 0; at < text.length; at += 5) {
    const number = [...text.slice(at, at + 5)].reduce((value, each) => value * 85 + Z85.indexOf(each), 0);
    bytes.writeUInt32BE(number % 2 ** 32, (at / 5) * 4);
  }
  return bytes;
}

function encode(bytes) {
  let text = '';
  for (let at = 0; at < bytes.length; at += 4) {
    let number = bytes.readUInt32BE(at);
    let part = '';
    for (let count = 0; count < 5; count += 1) {
      part = Z85[number % 85] + part;
      number = Math.floor(number / 85);
    }
    text += part;
  }
  return text;
}
