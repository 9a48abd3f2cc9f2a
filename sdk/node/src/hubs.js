/** Which hubs does a worker talk to, how does it divide its places among them, and which of them are gone? */

import { NEVER } from './holdings.js';

/** A discovered hub that did not answer so many times in a row is let go, if there is another. */
const MOST_FAILURES = 8;

/** Milliseconds for which such an address is not tried again. */
const SHUNNED = 60_000;

/** Milliseconds that what was said last has to go out, to a hub that is there. */
const LAST_WORDS = 1_000;

export class Hubs {
  /** @type {import('./connection.js').Connection[]} */
  list = [];
  #make;
  #discovering;
  /** Connections that were retired, by the one that has the session with their hub. */
  #aliases = new Map();
  /** Until when addresses that gave no answer are not tried. */
  #shunned = new Map();
  /** Until when each hub keeps what it gave for this worker; a hub that was replaced is not in here. */
  #kept = new Map();

  /** `make` makes the Connection of an address; its second argument tells whether a hub told of it. */
  constructor(addresses, make, { discover = true } = {}) {
    this.#make = make;
    this.#discovering = discover;
    for (const address of addresses) this.#add(address, false);
  }

  get anyOpen() {
    return this.list.some((each) => each.isOpen);
  }

  get allRefused() {
    return this.list.every((each) => each.link.isRefused);
  }

  /** The link of this hub, if there is a session with it. */
  linkOf(hub) {
    return this.list.find((each) => each.isOpen && each.link.hub === hub)?.link;
  }

  /**
   * Whether this hub will not come back for what it gave: another has answered in its place, or it has been away for
   * longer than its lease, so that it has given everything to others.
   */
  isGone(hub, now) {
    return now > (this.#kept.get(hub) ?? NEVER);
  }

  /** Notes who is there, and follows their lists of hubs. */
  seen(now) {
    for (const each of this.list.filter(({ isOpen }) => isOpen)) {
      this.#kept.set(each.link.hub, now + each.link.lease);
      if (this.#discovering) this.#discover(each, now);
    }
  }

  /** Divides the places among the hubs that are there. A hub that is greeted is told what it gets if all come. */
  divide(total) {
    const open = this.list.filter((each) => each.isOpen);
    open.forEach((each, index) => {
      each.link.credits = share(total, open.length, index);
    });
    for (const each of this.list) {
      if (!each.isOpen) each.link.credits = share(total, this.list.length);
    }
  }

  /**
   * A hub has let us in. Of two connections to one hub only the one that was made last has a session; the other may have
   * heard that already, and be closed.
   */
  welcomed(connection, before) {
    connection.welcomed();
    if (before !== null && this.linkOf(before) === undefined) this.#kept.delete(before);
    const same = this.list.filter(({ link }) => link.hub === connection.link.hub && !link.isRefused);
    const open = same.filter((each) => each.isOpen).sort((one, other) => one.link.greeting - other.link.greeting);
    const last = open.pop();
    for (const each of same) if (each.link.greeting < last?.link.greeting) this.#retire(each, last);
  }

  /** A connection is of no use: another socket, and the other addresses of its hub. Returns how long that takes. */
  failed(connection, now) {
    const pause = connection.tryAgain(now);
    // Whoever takes over what that hub gave hears at once that it goes on here.
    for (const each of this.list) each.link.beat(now);
    for (const each of this.#aliases.get(connection) ?? []) this.#add(each.address, each.discovered);
    this.#aliases.delete(connection);
    if (connection.discovered && connection.failures > MOST_FAILURES && this.anyOpen) {
      this.#shunned.set(connection.address, now + SHUNNED);
      this.#remove(connection);
    }
    return pause;
  }

  close() {
    for (const each of this.list) each.close(LAST_WORDS);
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
   * Follows a hub's list of hubs, once no other connection is still finding out who it talks to. An address in it may lead
   * to a hub that we know by another: then one of the two connections is retired.
   */
  #discover({ link }, now) {
    if (!this.list.every((each) => each.isOpen || each.failures > 0)) return;
    const known = [...this.#aliases.values()].flat().map(({ address }) => address);
    for (const address of link.hubs) {
      const shunned = now < (this.#shunned.get(address) ?? NEVER);
      if (!shunned && !known.includes(address)) this.#add(address, true);
    }
  }
}

/** The first ones get what cannot be divided; everybody gets one place, as long as there are any. */
export function share(total, count, index = count - 1) {
  if (total === 0) return 0;
  return Math.max(Math.floor(total / count) + (index < total % count ? 1 : 0), 1);
}
