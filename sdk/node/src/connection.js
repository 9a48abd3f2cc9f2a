/** Holds one address: its socket while there is one, its session, and the time of the next connection. */

import { setImmediate } from 'node:timers/promises';

import { Dealer } from 'zeromq';

import { ConfigurationError } from './errors.js';
import { NEVER } from './held-steps.js';

const INITIAL_BACKOFF = 100;
const MAX_BACKOFF = 5_000;
const MAX_DOUBLINGS = 16;
/** Milliseconds of reading after which the event loop runs timers and handlers. */
const RECEIVE_TIMEOUT = 100;

export class Connection {
  failures = 0;
  #socket = null;
  #retryAt = NEVER;
  #options;
  #received;
  /** True if the failure of the connection was logged. */
  #failureLogged = false;

  /**
   * @param {string} address
   * @param {import('./worker-session.js').WorkerSession} session
   * @param {{options: object, received: () => void, discovered: boolean}} more `received` is called after each message;
   *   `discovered`: a hub has named this address; it is not configured
   */
  constructor(address, session, { options, received, discovered }) {
    this.address = address;
    this.session = session;
    this.discovered = discovered;
    this.#options = options;
    this.#received = received;
  }

  get isOpen() {
    return this.session.isOpen;
  }

  connect(now) {
    if (this.#socket !== null || now < this.#retryAt || this.session.isRefused) return;
    try {
      this.#socket = this.#dealer();
    } catch (error) {
      if (!this.discovered) throw error;
      // A hub has named an address that cannot be used here.
      this.#retryAt = Infinity;
      return;
    }
    this.session.open(now);
    this.#listen(this.#socket);
  }

  /** Processes the events of the socket. */
  #watch(socket) {
    const on = (event, act) =>
      socket.events.on(event, () => {
        if (socket !== this.#socket) return;
        act();
        this.#received();
      });
    const broken = () => {
      // Logged once: libzmq keeps reconnecting.
      if (this.#failureLogged) return;
      this.#failureLogged = true;
      this.#options.logger(`hub ${this.address}: the encrypted connection fails; is the server key the hub's?`);
    };
    // The hub identifies a session by its connection, which libzmq would replace.
    on('disconnect', () => this.session.connectionLost('the connection is gone'));
    on('handshake:error:auth', () => this.session.refuse("key_refused: the hub does not know this worker's key"));
    on('handshake:error:protocol', broken);
    on('handshake:error:other', broken);
  }

  /** Sends what is new about changed steps, and what is due. A full queue drops messages: the session repeats them. */
  flush(changed, now) {
    this.session.report(changed, now);
    this.session.tick(now);
    for (const frames of this.session.outbox.splice(0)) this.#socket?.send(frames).catch(() => {});
  }

  get nextDue() {
    if (this.#socket !== null) return this.session.nextDue;
    return this.session.isRefused ? Infinity : this.#retryAt;
  }

  /** Resets the backoff, unless the hub has sent a message over the limit. */
  welcomed() {
    if (!this.session.overLimit) this.failures = 0;
    this.#failureLogged = false;
  }

  /** Schedules another socket after a backoff that grows, with jitter. Returns the backoff in milliseconds. */
  scheduleReconnect(now) {
    this.close();
    const backoff = Math.min(INITIAL_BACKOFF * 2 ** this.failures, MAX_BACKOFF) * (0.5 + Math.random() / 2);
    this.failures = Math.min(this.failures + 1, MAX_DOUBLINGS);
    this.#retryAt = now + backoff;
    return backoff;
  }

  /** Closes the connection for good. */
  retire() {
    this.close();
    this.#retryAt = Infinity;
  }

  /** Closes the socket; messages to a connected hub have `linger` milliseconds to go out. */
  close(linger = 0) {
    if (this.#socket !== null && this.isOpen) this.#socket.linger = linger;
    this.#socket?.close();
    this.#socket = null;
  }

  async #listen(socket) {
    let begun = performance.now();
    try {
      for await (const frames of socket) {
        if (socket !== this.#socket) return;
        this.session.receive(frames, performance.now());
        this.#received();
        if (performance.now() - begun >= RECEIVE_TIMEOUT) {
          await setImmediate();
          begun = performance.now();
        }
      }
    } catch (error) {
      if (socket === this.#socket) this.#options.logger(`hub at ${this.address}: ${error.message}`);
    }
  }

  #dealer() {
    const { curve, maxMessageBytes } = this.#options;
    const socket = new Dealer({
      linger: 0,
      // A socket that cannot queue a message at once fails, and never blocks the worker.
      sendTimeout: 0,
      maxMessageSize: maxMessageBytes,
      reconnectInterval: 100,
      reconnectMaxInterval: 5_000,
      ipv6: this.address.includes('['),
    });
    try {
      if (curve !== null) {
        socket.curveServerKey = curve.serverKey;
        socket.curvePublicKey = curve.publicKey;
        socket.curveSecretKey = curve.secretKey;
      }
      this.#watch(socket);
      socket.connect(this.address);
    } catch (error) {
      socket.close();
      throw new ConfigurationError(`cannot connect to ${this.address}: ${error.message}`);
    }
    return socket;
  }
}
