/** Runs a worker: takes steps from its hubs, runs their handlers, and returns the results. */

import { Connection } from './connection.js';
import { Cancelled, ConfigurationError, Refused } from './errors.js';
import { HeldSteps } from './held-steps.js';
import { Hubs, share } from './hubs.js';
import { Job } from './job.js';
import { WorkerSession } from './worker-session.js';
import { Loop } from './loop.js';
import { hello, options } from './options.js';
import { Pool } from './pool.js';
import { Prefetch, waitingTooLong } from './prefetch.js';
import { registry as everyHandler } from './registry.js';
import { unable } from './results.js';

const BYE_TIMEOUT = 1_000;
/** With so many unacknowledged results the credits are 0 until half of them are acknowledged. */
const MAX_UNACKNOWLEDGED = 1_000;
/** Milliseconds after which steps of one round wait for the next: a handler has blocked the event loop. */
const MAX_BLOCKED = 50;
const LATE = 'its deadline had passed before it could begin';

export class Worker {
  #registry;
  #options;
  #hello;
  #heldSteps = new HeldSteps();
  #hubs;
  #pool;
  #prefetch = new Prefetch();
  #loop;
  #settle;
  #helloSeq = 0;
  #full = false;
  #draining = false;
  /** The end of the grace period, once it drains. */
  #stopBy = Infinity;
  #byeSentAt = null;
  /** The time at which the first handler of this round began. */
  #began = null;

  /** @param {import('../index.js').WorkerOptions} [given] */
  constructor({ registry = everyHandler, ...given } = {}) {
    this.#registry = registry;
    this.#options = options(given);
    if (registry.names.length === 0) throw new ConfigurationError('no handlers: register them before the worker is made');
  }

  /** Runs until it is stopped; resolves to 'drained' or 'stopped', rejects with Refused if every hub refuses it. */
  run() {
    const { concurrency, killGrace, connect, discover, name, logger } = this.#options;
    const ended = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.#hello = hello(this.#options, this.#registry.names);
    this.#pool = new Pool(concurrency, killGrace, (token, result) => {
      this.#prefetch.ended();
      this.#heldSteps.finish(token, result);
      this.#loop.wake();
    });
    this.#loop = new Loop((now) => this.#round(now));
    this.#hubs = new Hubs(connect, (address, discovered) => this.#connection(address, discovered), { discover });
    const handlers = this.#registry.names.length;
    logger(`worker ${name}: ${handlers} handlers, ${concurrency} at once, hubs ${connect.join(', ')}`);
    this.#loop.wake();
    return ended.finally(() => this.#close());
  }

  /** Drains: takes no more steps, finishes what runs, sends bye. The second call stops at once. */
  stop() {
    if (this.#draining) this.#stopBy = -Infinity;
    this.#drain();
    this.#loop?.wake();
  }

  #round(now) {
    this.#began = null;
    try {
      if (now >= this.#stopBy) return this.#abandon(now);
      for (const each of [...this.#hubs.list]) {
        each.connect(now);
        this.#act(each, now);
      }
      this.#hubs.refresh(now);
      this.#pool.tick(now);
      if (this.#draining) this.#returnAll();
      else this.#begin(now);
      this.#prefetch.busy(!this.#pool.isIdle, now);
      if (this.#prefetch.isDue(now)) this.#tick(now);
      this.#hubs.divide(this.#credits());
      const byeDue = this.#finishDrain(now);
      const changed = this.#heldSteps.takeChanged();
      for (const each of [...this.#hubs.list]) {
        each.flush(changed, now);
        this.#act(each, now);
      }
      const due = this.#hubs.list.map((each) => each.nextDue);
      due.push(this.#prefetch.nextDue(this.#heldSteps.size === 0));
      return Math.min(byeDue, this.#stopBy, this.#pool.nextDue, ...due);
    } catch (error) {
      this.#settle.reject(error);
      this.#close();
      return Infinity;
    }
  }

  // -- actions of hubs -----------------------------------------------------------------------------------------------
  #act(connection, now) {
    for (const action of connection.session.actions.splice(0)) {
      switch (action.type) {
        case 'stop':
          this.#pool.stop(action.token, new Cancelled(action.reason), now);
          break;
        case 'drainRequested':
          this.#options.logger(`hub ${connection.address} asks this worker to leave: ${action.reason}`);
          this.#drain();
          break;
        case 'sessionOpened':
          this.#options.logger(`hub ${connection.address} is there`);
          this.#hubs.welcomed(connection, action.before);
          break;
        case 'reconnect':
          this.#lost(connection, action.reason, now);
          break;
        default:
          if (connection.session.isRefused) this.#refused(connection, action.reason);
          else this.#lost(connection, `it sent bye: ${action.reason}`, now);
      }
    }
  }

  #lost(connection, reason, now) {
    if (this.#byeSentAt !== null) return;
    const backoff = this.#hubs.failed(connection, now) / 1000;
    this.#options.logger(`hub ${connection.address}: ${reason}; the next try is in ${backoff.toFixed(1)} s`);
  }

  #refused(connection, reason) {
    const message = `hub ${connection.address} refuses this worker: ${reason}`;
    connection.close();
    if (this.#hubs.allRefused) throw new Refused(message);
    this.#options.logger(message);
  }

  // -- running steps -------------------------------------------------------------------------------------------------
  /** Returns the number of steps to ask for in all. */
  #credits() {
    const { unacknowledged } = this.#heldSteps;
    this.#full = unacknowledged >= (this.#full ? MAX_UNACKNOWLEDGED / 2 : MAX_UNACKNOWLEDGED);
    return this.#draining || this.#full ? 0 : this.#prefetch.credits(this.#options.concurrency);
  }

  /** Begins steps while slots are free, in the order of arrival. */
  #begin(now) {
    let { free } = this.#pool;
    if (free <= 0) return;
    for (const heldStep of this.#heldSteps.waiting) {
      const session = this.#hubs.sessionOf(heldStep.hub);
      if (heldStep.isLate(now)) this.#heldSteps.returnStep(heldStep.token, LATE);
      else if (session?.inContact(performance.now())) {
        // A granted step counts as begun, even if this worker dies: leave is requested when a slot is free.
        if (heldStep.granted) this.#start(heldStep, session, now);
        else this.#heldSteps.requestStart(heldStep);
        free -= 1;
        if (free === 0) return;
      }
    }
  }

  #returnAll() {
    for (const { token } of this.#heldSteps.waiting) this.#heldSteps.returnStep(token, 'the worker is stopping');
  }

  /** Adapts the credits, and returns steps that cannot begin here soon, so that other workers get them. */
  #tick(now) {
    const { concurrency } = this.#options;
    this.#prefetch.tick(concurrency, now);
    for (const heldStep of this.#heldSteps.waiting) {
      if (heldStep.isLate(now)) this.#heldSteps.returnStep(heldStep.token, LATE);
      else if (this.#isGone(heldStep.hub, now)) this.#heldSteps.returnStep(heldStep.token, 'its hub is gone');
    }
    for (const { token } of waitingTooLong(this.#heldSteps.waiting, concurrency, now)) {
      this.#heldSteps.returnStep(token, 'it is not its turn for long');
    }
  }

  #isGone(hub, now) {
    return this.#hubs.anyOpen && this.#hubs.sessionOf(hub) === undefined && this.#hubs.isGone(hub, now);
  }

  #start(heldStep, session, now) {
    const { token } = heldStep;
    this.#heldSteps.begin(heldStep);
    const listener = {
      onLine: (stream, text) => {
        this.#heldSteps.addLine(token, stream, text);
        this.#loop.wake();
      },
      onProgress: (done, total, message) => {
        if (heldStep.state !== 'running') return;
        this.#hubs.sessionOf(heldStep.hub)?.progress(token, done, total, message);
        this.#loop.wake();
      },
    };
    this.#pool.start(new Job(heldStep.step, this.#registry, listener), now, () => this.#mayBegin(heldStep, session));
  }

  /** Returns whether the step may still begin; else it waits until the messages of its hub are processed. */
  #mayBegin(heldStep, session) {
    const now = performance.now();
    this.#began ??= now;
    if (now - this.#began < MAX_BLOCKED && session.inContact(now)) return true;
    this.#heldSteps.waitAgain(heldStep);
    this.#loop.wake();
    return false;
  }

  // -- shutdown ------------------------------------------------------------------------------------------------------
  #drain() {
    if (this.#draining) return;
    const { grace, logger } = this.#options;
    this.#draining = true;
    this.#stopBy = performance.now() + grace;
    logger(`stopping: ${this.#pool?.size ?? 0} steps run, and have ${grace / 1000} s to finish`);
  }

  /** Reports steps that end with this process as lost, which does not count as a failure of the handler. */
  #abandon(now) {
    for (const { token, step } of this.#heldSteps.filter((each) => each.state === 'running')) {
      this.#heldSteps.finish(token, unable(step, 'lost', 'its worker was stopped'));
    }
    const changed = this.#heldSteps.takeChanged();
    for (const each of this.#hubs.list) each.flush(changed, now);
    this.#settle.resolve('stopped');
    return Infinity;
  }

  /** Sends bye once no step is held, and waits for the answer. Returns the time until which it waits. */
  #finishDrain(now) {
    if (!this.#draining || this.#heldSteps.size > 0 || !this.#pool.isIdle) return Infinity;
    if (this.#byeSentAt === null) {
      this.#byeSentAt = now;
      for (const { session } of this.#hubs.list) session.bye('drained');
    }
    const until = this.#byeSentAt + BYE_TIMEOUT;
    if (!this.#hubs.anyOpen || now >= until) this.#settle.resolve('drained');
    return until;
  }

  #close() {
    this.#loop.close();
    this.#hubs?.close();
  }

  #connection(address, discovered) {
    const session = new WorkerSession(this.#hello, this.#heldSteps, {
      credits: share(this.#prefetch.credits(this.#options.concurrency), this.#options.connect.length),
      nextHelloSeq: () => (this.#helloSeq += 1),
      isOrphan: (heldStep) => this.#hubs.sessionOf(heldStep.hub) === undefined,
    });
    return new Connection(address, session, { options: this.#options, received: () => this.#loop.wake(), discovered });
  }
}
