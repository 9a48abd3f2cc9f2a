import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import { Hubs } from '../src/hubs.js';

/** What Hubs knows of a connection. */
class FakeConnection {
  failures = 0;
  closed = false;

  constructor(address, discovered) {
    this.address = address;
    this.discovered = discovered;
    this.session = { isRefused: false, hub: '', hubs: [], lease: 15_000, credits: -1, helloSeq: 0 };
    this.session.sendHeartbeat = () => {};
    this.session.checks = 0;
    this.session.checkAll = () => {
      this.session.checks += 1;
    };
    this.isOpen = false;
  }

  opened(hub, helloSeq, hubs = []) {
    Object.assign(this.session, { hub, helloSeq, hubs });
    this.isOpen = true;
    return this;
  }

  welcomed() {
    this.failures = 0;
  }

  scheduleReconnect() {
    this.failures += 1;
    this.isOpen = false;
  }

  retire() {
    this.closed = true;
  }
}

let hubs;

beforeEach(() => {
  hubs = new Hubs(['a', 'b', 'c'], (address, discovered) => new FakeConnection(address, discovered));
});

const addresses = () => hubs.list.map((each) => each.address);
const credits = () => hubs.list.map((each) => each.session.credits);

test('credits are divided among the open sessions', () => {
  hubs.list[0].opened('one', 1);
  hubs.list[1].opened('two', 2);
  hubs.divide(7);
  assert.deepEqual(credits(), [4, 3, 2]);
  hubs.divide(1);
  assert.deepEqual(credits(), [1, 1, 1]);
  hubs.divide(0);
  assert.deepEqual(credits(), [0, 0, 0]);
});

test('of two connections to one hub the later one stays, and the other address is kept for when it fails', () => {
  const [a, b] = hubs.list;
  hubs.welcomed(a.opened('one', 1), null);
  hubs.welcomed(b.opened('one', 2), null);
  assert.deepEqual([addresses(), a.closed], [['b', 'c'], true]);
  hubs.failed(b, 0);
  assert.deepEqual(addresses(), ['b', 'c', 'a']);
});

test('of two connections to one hub the first goes also if its session is over already', () => {
  const [a, b] = hubs.list;
  hubs.welcomed(a.opened('one', 1), null);
  hubs.failed(a, 0);
  hubs.welcomed(b.opened('one', 2), null);
  assert.deepEqual([addresses(), a.closed], [['b', 'c'], true]);
});

test('hubs are found behind a hub that calls itself by another address', () => {
  hubs = new Hubs(['alias'], (address, discovered) => new FakeConnection(address, discovered));
  const [alias] = hubs.list;
  hubs.welcomed(alias.opened('one', 1, ['a', 'b']), null);
  hubs.refresh(0);
  assert.deepEqual(addresses(), ['alias', 'a', 'b']);
  const [, a, b] = hubs.list;
  hubs.welcomed(a.opened('one', 2, ['a', 'b']), null);
  hubs.welcomed(b.opened('two', 3, ['a', 'b']), null);
  hubs.refresh(1);
  assert.deepEqual(addresses(), ['a', 'b']);
  hubs.failed(a, 2);
  assert.deepEqual([addresses(), hubs.list[2].discovered], [['a', 'b', 'alias'], false]);
});

test('hubs that a hub names are connected to once every hello is answered or has failed', () => {
  const [a, b, c] = hubs.list;
  hubs.welcomed(a.opened('one', 1, ['a', 'd']), null);
  hubs.refresh(0);
  assert.deepEqual(addresses(), ['a', 'b', 'c']);
  b.opened('two', 2);
  hubs.welcomed(c.opened('three', 3), null);
  hubs.refresh(1);
  assert.deepEqual(addresses(), ['a', 'b', 'c', 'd']);
  assert.equal(hubs.list[3].discovered, true);
});

test('a discovered hub that never answers is dropped, a configured one is not', () => {
  const [a, b, c] = hubs.list;
  b.opened('two', 1);
  c.opened('three', 2);
  hubs.welcomed(a.opened('one', 3, ['a', 'd']), null);
  hubs.refresh(0);
  const d = hubs.list[3];
  for (let count = 0; count < 9; count += 1) [b, d].forEach((each) => hubs.failed(each, 0));
  assert.deepEqual(addresses(), ['a', 'b', 'c']);
  hubs.refresh(59_999);
  assert.deepEqual(addresses(), ['a', 'b', 'c']);
  hubs.refresh(60_000);
  assert.deepEqual(addresses(), ['a', 'b', 'c', 'd']);
});

test('a hub is gone after its lease, or when another has answered at its address', () => {
  const [a] = hubs.list;
  hubs.welcomed(a.opened('one', 1), null);
  hubs.refresh(1_000);
  hubs.failed(a, 2_000);
  assert.deepEqual([hubs.isGone('one', 16_000), hubs.isGone('one', 16_001)], [false, true]);
  hubs.welcomed(a.opened('two', 2), 'one');
  assert.equal(hubs.isGone('one', 2_000), true);
});

test('all steps are checked when the hubs that there is a session with have changed', () => {
  const [a, b] = hubs.list;
  const checks = () => {
    hubs.refresh(0);
    return [a.session.checks, b.session.checks];
  };
  a.opened('one', 1);
  assert.deepEqual([checks(), checks()], [[1, 0], [1, 0]]);
  b.opened('two', 2);
  assert.deepEqual(checks(), [2, 1]);
  hubs.failed(a, 0);
  assert.deepEqual([checks(), checks()], [[2, 2], [2, 2]]);
});
