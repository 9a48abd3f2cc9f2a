/** Holds the connections of a worker to its hubs, divides its credits among them, and knows which hubs are gone. */

import { NEVER } from './held-steps.js';

/** A discovered hub that did not answer so many times in a row is dropped, if there is another. */
const MAX_FAILURES = 8;

/** Milliseconds for which such an address is not connected to. */
const IGNORE_TIMEOUT = 60_000;

/** Milliseconds that the last messages have to go out to a connected hub. */
const CLOSE_TIMEOUT = 1_000;

export class Hubs {
  /** @type {import('./connection.js').Connection[]} */
  list = [];
  #make;
  #discovering;
  /** Connections that were retired, by the one that has the session with their hub. */
  #aliases = new Map();
  /** The times until which addresses that gave no answer are not connected to. */
  #ignoredUntil = new Map();
  /** The times until which the steps of each hub remain its own; a hub that was replaced is not in here. */
  #kept = new Map();
  /** The hubs with an open session at the last refresh. */
  #openHubs = '';

  /** `make` makes the Connection of an address; its second argument is true if a hub has named the address. */
  constructor(addresses, make, { discover = true } = {}) {
    this.#make = make;
    this.#discovering = discover;
    for (const address of addresses) this.#add(address, false);
  }

  get anyOpen() {
    return this.list.some((each) => each.isOpen);
  }

  get allRefused() {
    return this.list.every((each) => each.session.isRefused);
  }

  /** Returns the open session with this hub, or undefined. */
  sessionOf(hub) {
    return this.list.find((each) => each.isOpen && each.session.hub === hub)?.session;
  }

  /**
   * Returns whether this hub does not own its steps any more: another hub has answered at its address, or it has been
   * silent for longer than its lease, so that it has given them to other workers.
   */
  isGone(hub, now) {
    return now > (this.#kept.get(hub) ?? NEVER);
  }

  /**
   * Extends the leases of connected hubs, and connects to the hubs that they name. What a hub gave that has no session any
   * more is reported to all others.
   */
  refresh(now) {
    const open = this.list.filter(({ isOpen }) => isOpen);
    const hubs = open.map(({ session }) => session.hub).join('\n');
    if (hubs !== this.#openHubs) for (const { session } of open) session.checkAll();
    this.#openHubs = hubs;
    for (const each of open) {
      this.#kept.set(each.session.hub, now + each.session.lease);
      if (this.#discovering) this.#discover(each, now);
    }
  }

  /** Divides credits among the open sessions. A hello offers the share that is left if all hubs answer. */
  divide(total) {
    const open = this.list.filter((each) => each.isOpen);
    open.forEach((each, index) => {
      each.session.credits = share(total, open.length, index);
    });
    for (const each of this.list) {
      if (!each.isOpen) each.session.credits = share(total, this.list.length);
    }
  }

  /**
   * Called when a session is open. Of two connections to one hub only the newer one has a session; the other may be
   * closed already.
   */
  welcomed(connection, before) {
    connection.welcomed();
    if (before !== null && this.sessionOf(before) === undefined) this.#kept.delete(before);
    const same = this.list.filter(({ session }) => session.hub === connection.session.hub && !session.isRefused);
    const open = same.filter((each) => each.isOpen).sort((one, other) => one.session.helloSeq - other.session.helloSeq);
    const last = open.pop();
    for (const each of same) if (each.session.helloSeq < last?.session.helloSeq) this.#retire(each, last);
  }

  /** Schedules another socket, and connects to the other addresses of the hub. Returns the backoff in milliseconds. */
  failed(connection, now) {
    const backoff = connection.scheduleReconnect(now);
    // A hub that takes over the steps of that hub learns at once that they still run here.
    for (const each of this.list) each.session.sendHeartbeat(now);
    for (const each of this.#aliases.get(connection) ?? []) this.#add(each.address, each.discovered);
    this.#aliases.delete(connection);
    if (connection.discovered && connection.failures > MAX_FAILURES && this.anyOpen) {
      this.#ignoredUntil.set(connection.address, now + IGNORE_TIMEOUT);
      this.#remove(connection);
    }
    return backoff;
  }

  close() {
    for (const each of this.list) each.close(CLOSE_TIMEOUT);
  }

  #add(address, discovered) {
    if (this.list.some((each) => each.address === address)) return;
    this.list.push(this.#make(address, discovered));
  }

  #remove(connection) {
    connection.retire();
    this.list = this.list.filter((each) => each !== connection);
  }

  #retire(older, newer) {
    this.#remove(older);
    const moved = [older, ...(this.#aliases.get(older) ?? [])];
    this.#aliases.delete(older);
    this.#aliases.set(newer, [...(this.#aliases.get(newer) ?? []), ...moved]);
  }

  /**
   * Connects to the hubs that a hub names, once every other connection has an answer or has failed. An address may lead
   * to a hub that is known by another: then one of the two connections is retired.
   */
  #discover({ session }, now) {
    if (!this.list.every((each) => each.isOpen || each.failures > 0)) return;
    const known = [...this.#aliases.values()].flat().map(({ address }) => address);
    for (const address of session.hubs) {
      const ignored = now < (this.#ignoredUntil.get(address) ?? NEVER);
      if (!ignored && !known.includes(address)) this.#add(address, true);
    }
  }
}

/** Returns a share of credits: the first ones get the remainder, and each gets at least one if there are any. */
export function share(total, count, index = count - 1) {
  if (total === 0) return 0;
  return Math.max(Math.floor(total / count) + (index < total % count ? 1 : 0), 1);
}
