import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { curveKeyPair } from 'zeromq';

import { ConfigurationError } from '../index.js';
import { keys } from '../src/keys.js';

const HUB = 's'.repeat(40);
const { publicKey, secretKey } = curveKeyPair();
const folder = mkdtempSync(join(tmpdir(), 'turnout-keys-'));
after(() => rmSync(folder, { recursive: true }));

let files = 0;

/** A file as `turnout keys generate` makes it. */
function keyFile(publicHalf, secretHalf) {
  const file = join(folder, `${(files += 1)}.key`);
  const halves = `    public-key = "${publicHalf}"\n    secret-key = "${secretHalf}"\n`;
  writeFileSync(file, `# A pair of keys of Turnout.\nmetadata\ncurve\n${halves}`, { mode: 0o600 });
  return file;
}

const fail = (text) => assert.fail(text);

test('the secret key does not stay in the environment that children get', () => {
  const found = { TURNOUT_CURVE_SERVER_KEY: HUB, TURNOUT_CURVE_PUBLIC_KEY: publicKey, TURNOUT_CURVE_SECRET_KEY: secretKey };
  Object.assign(process.env, found);
  try {
    for (const time of ['first', 'next']) {
      assert.deepEqual(keys(undefined, process.env, fail), { serverKey: HUB, publicKey, secretKey }, time);
    }
    const printed = execFileSync('env', { encoding: 'utf8' });
    assert.ok(printed.includes(publicKey) && !printed.includes(secretKey));
  } finally {
    for (const name of Object.keys(found)) delete process.env[name];
  }
});

test('the pair may be in a file', () => {
  const file = keyFile(publicKey, secretKey);
  const ways = [
    [undefined, { TURNOUT_CURVE_SERVER_KEY: HUB, TURNOUT_CURVE_KEY_FILE: file }],
    [{ keyFile: file }, { TURNOUT_CURVE_SERVER_KEY: HUB }],
    [{ serverKey: HUB }, { TURNOUT_CURVE_KEY_FILE: file }],
    [{ serverKey: HUB, keyFile: file }, { TURNOUT_CURVE_PUBLIC_KEY: HUB }],
    [{ serverKey: HUB, publicKey, secretKey }, { TURNOUT_CURVE_KEY_FILE: '/nowhere' }],
  ];
  for (const [given, env] of ways) assert.deepEqual(keys(given, env, fail), { serverKey: HUB, publicKey, secretKey });
  chmodSync(file, 0o640);
  const found = [];
  keys({ serverKey: HUB, keyFile: file }, {}, (text) => found.push(text));
  assert.match(found.join(), /others on this machine can read .*chmod 600 it/);
});

test('a key file that is none is refused with the reason', () => {
  const wrong = [
    ['/nowhere/worker.key', /cannot be read/],
    [keyFile(publicKey, ''), /has no secret key/],
    [keyFile(publicKey, 'short'), /the secret key in .* is none/],
    [keyFile(curveKeyPair().publicKey, secretKey), /do not belong together/],
  ];
  for (const [file, message] of wrong) {
    assert.throws(() => keys({ serverKey: HUB, keyFile: file }, {}, fail), (error) => {
      assert.ok(error instanceof ConfigurationError && !error.message.includes(secretKey));
      return message.test(error.message);
    });
  }
  const both = { TURNOUT_CURVE_PUBLIC_KEY: publicKey, TURNOUT_CURVE_KEY_FILE: '/nowhere' };
  assert.throws(() => keys(undefined, both, fail), /one pair of keys/);
  assert.throws(() => keys({ keyFile: keyFile(publicKey, secretKey) }, {}, fail), /missing: serverKey/);
});
