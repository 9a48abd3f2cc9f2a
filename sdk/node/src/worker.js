/** What does a worker do next? It takes steps from its hubs, runs handlers, and says how they ended. */

import { Connection } from './connection.js';
import { Cancelled, ConfigurationError, Refused } from './errors.js';
import { Holdings } from './holdings.js';
import { Hubs, share } from './hubs.js';
import { Job } from './job.js';
import { Link } from './link.js';
import { Loop } from './loop.js';
import { hello, options } from './options.js';
import { Pool } from './pool.js';
import { registry as everyHandler } from './registry.js';
import { unable } from './results.js';

/** Steps that are held for each place, so that the next one is there when a place becomes free. */
const HELD_PER_PLACE = 2;
const BYE = 1_000;
/** With so many results that no hub has acknowledged, nothing more is asked for until half of them are. */
const MOST_UNACKNOWLEDGED = 1_000;
/** Milliseconds after which steps that were to begin together wait for the next turn: some handler keeps the loop. */
const LONG = 50;

export class Worker {
  #registry;
  #options;
  #hello;
  #holdings = new Holdings();
  #hubs;
  #pool;
  #loop;
  #settle;
  #greetings = 0;
  #full = false;
  #draining = false;
  /** When it ends at the latest, once it drains. */
  #stopBy = Infinity;
  #left = null;
  /** When the first handler of this turn began. */
  #began = null;

  /** @param {import('../index.js').WorkerOptions} [given] */
  constructor({ registry = everyHandler, ...given } = {}) {
    this.#registry = registry;
    this.#options = options(given);
    if (registry.names.length === 0) throw new ConfigurationError('no handlers: register them before the worker is made');
  }

  /** Works until it is told to stop; resolves to 'drained' or 'stopped', rejects with Refused if no hub wants it. */
  run() {
    const { concurrency, killGrace, connect, discover, name, logger } = this.#options;
    const ended = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.#hello = hello(this.#options, this.#registry.names);
    this.#pool = new Pool(concurrency, killGrace, (token, result) => {
      this.#holdings.finish(token, result);
      this.#loop.wake();
    });
    this.#loop = new Loop((now) => this.#turn(now));
    this.#hubs = new Hubs(connect, (address, discovered) => this.#connection(address, discovered), { discover });
    const handlers = this.#registry.names.length;
    logger(`worker ${name}: ${handlers} handlers, ${concurrency} at once, hubs ${connect.join(', ')}`);
    this.#loop.wake();
    return ended.finally(() => this.#close());
  }

  /** Drains: takes nothing more, finishes what runs, says bye. The second call stops at once. */
  stop() {
    if (this.#draining) this.#stopBy = -Infinity;
    this.#drain();
    this.#loop?.wake();
  }

  #turn(now) {
    this.#began = null;
    try {
      if (now >= this.#stopBy) return this.#abandon(now);
      for (const each of [...this.#hubs.list]) {
        each.connect(now);
        this.#act(each, now);
      }
      this.#hubs.seen(now);
      this.#hubs.divide(this.#places());
      const deadline = this.#begin(now);
      this.#pool.tick(now);
      const left = this.#leave(now);
      for (const each of [...this.#hubs.list]) {
        each.flush(now);
        this.#act(each, now);
      }
      return Math.min(deadline, left, this.#stopBy, this.#pool.nextDue, ...this.#hubs.list.map((each) => each.nextDue));
    } catch (error) {
      this.#settle.reject(error);
      this.#close();
      return Infinity;
    }
  }

  // -- what hubs say -------------------------------------------------------------------------------------------------
  #act(connection, now) {
    for (const action of connection.link.actions.splice(0)) {
      switch (action.type) {
        case 'stop':
          this.#pool.stop(action.token, new Cancelled(action.reason), now);
          break;
        case 'drain':
          this.#options.logger(`hub ${connection.address} asks this worker to leave: ${action.reason}`);
          this.#drain();
          break;
        case 'welcomed':
          this.#options.logger(`hub ${connection.address} is there`);
          this.#hubs.welcomed(connection, action.before);
          break;
        case 'reconnect':
          this.#lost(connection, action.reason, now);
          break;
        default:
          if (connection.link.isRefused) this.#refused(connection, action.reason);
          else this.#lost(connection, `it said bye: ${action.reason}`, now);
      }
    }
  }

  #lost(connection, reason, now) {
    if (this.#left !== null) return; // it leaves anyway
    const pause = this.#hubs.failed(connection, now) / 1000;
    this.#options.logger(`hub ${connection.address}: ${reason}; the next try is in ${pause.toFixed(1)} s`);
  }

  #refused(connection, reason) {
    const said = `hub ${connection.address} refuses this worker: ${reason}`;
    connection.close();
    if (this.#hubs.allRefused) throw new Refused(said);
    this.#options.logger(said);
  }

  // -- what runs -----------------------------------------------------------------------------------------------------
  /** How many steps to ask for in all. */
  #places() {
    const unacknowledged = this.#holdings.filter((each) => each.state === 'done').length;
    this.#full = unacknowledged >= (this.#full ? MOST_UNACKNOWLEDGED / 2 : MOST_UNACKNOWLEDGED);
    return this.#draining || this.#full ? 0 : HELD_PER_PLACE * this.#options.concurrency;
  }

  /** Begins, gives back or leaves each step that waits; returns the first deadline among those that still do. */
  #begin(now) {
    let deadline = Infinity;
    let { free } = this.#pool;
    for (const holding of this.#holdings.filter((each) => each.state === 'waiting')) {
      const link = this.#hubs.linkOf(holding.hub);
      const reason = this.#whyNot(holding, link, now);
      if (reason !== null) this.#holdings.giveBack(holding.token, reason);
      else if (free > 0 && link?.inContact(performance.now())) {
        free -= 1;
        // Whoever has leave is taken to have begun, also if this worker dies: it is asked for when there is a place.
        if (holding.granted) this.#start(holding, link, now);
        else holding.asks = true;
      } else deadline = Math.min(deadline, holding.deadline);
    }
    return deadline;
  }

  #whyNot({ deadline, hub }, link, now) {
    if (this.#draining) return 'the worker is stopping';
    if (now >= deadline) return 'its deadline had passed before it could begin';
    if (link === undefined && this.#hubs.anyOpen && this.#hubs.isGone(hub, now)) return 'its hub is gone';
    return null;
  }

  #start(holding, link, now) {
    const { token } = holding;
    holding.state = 'running';
    const heard = {
      said: (stream, text) => {
        this.#holdings.say(token, stream, text);
        this.#loop.wake();
      },
      progressed: (done, total, message) => {
        if (holding.state !== 'running') return;
        this.#hubs.linkOf(holding.hub)?.progress(token, done, total, message);
        this.#loop.wake();
      },
    };
    this.#pool.start(new Job(holding.step, this.#registry, heard), now, () => this.#mayBegin(holding, link));
  }

  /** Whether it is still right to begin; else it waits, and what its hub has said meanwhile is heard first. */
  #mayBegin(holding, link) {
    const now = performance.now();
    this.#began ??= now;
    if (now - this.#began < LONG && link.inContact(now)) return true;
    holding.state = 'waiting';
    this.#loop.wake();
    return false;
  }

  // -- the end -------------------------------------------------------------------------------------------------------
  #drain() {
    if (this.#draining) return;
    const { grace, logger } = this.#options;
    this.#draining = true;
    this.#stopBy = performance.now() + grace;
    logger(`stopping: ${this.#pool?.size ?? 0} steps run, and have ${grace / 1000} s to finish`);
  }

  /** What still runs ends here. Its hubs need not wait to find out, and nobody takes it for a failure of the handler. */
  #abandon(now) {
    for (const { token, step } of this.#holdings.filter((each) => each.state === 'running')) {
      this.#holdings.finish(token, unable(step, 'lost', 'its worker was stopped'));
    }
    for (const each of this.#hubs.list) each.flush(now);
    this.#settle.resolve('stopped');
    return Infinity;
  }

  /** Says bye once nothing is in hand, and waits for the answer a moment; returns until when. */
  #leave(now) {
    if (!this.#draining || this.#holdings.size > 0 || !this.#pool.isIdle) return Infinity;
    if (this.#left === null) {
      this.#left = now;
      for (const { link } of this.#hubs.list) link.bye('drained');
    }
    const until = this.#left + BYE;
    if (!this.#hubs.anyOpen || now >= until) this.#settle.resolve('drained');
    return until;
  }

  #close() {
    this.#loop.close();
    this.#hubs?.close();
  }

  #connection(address, discovered) {
    const link = new Link(this.#hello, this.#holdings, {
      credits: share(HELD_PER_PLACE * this.#options.concurrency, this.#options.connect.length),
      nextGreeting: () => (this.#greetings += 1),
      isOrphan: (holding) => this.#hubs.linkOf(holding.hub) === undefined,
    });
    return new Connection(address, link, { options: this.#options, received: () => this.#loop.wake(), discovered });
  }
}
