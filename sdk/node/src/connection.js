/** How is one address reached? Its socket while there is one, its link, and when to try again. */

import { setImmediate } from 'node:timers/promises';

import { Dealer } from 'zeromq';

import { ConfigurationError } from './errors.js';
import { NEVER } from './holdings.js';

const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 5_000;
const MOST_DOUBLINGS = 16;
/** Milliseconds after which timers and handlers have their turn, however much there is to read. */
const TURN = 100;

export class Connection {
  failures = 0;
  #socket = null;
  #retryAt = NEVER;
  #options;
  #received;
  /** That the connection fails was said. */
  #said = false;

  /**
   * @param {string} address
   * @param {import('./link.js').Link} link
   * @param {{options: object, received: () => void, discovered: boolean}} more `received` is called after each message;
   *   `discovered`: a hub told of this address, nobody asked for it by name
   */
  constructor(address, link, { options, received, discovered }) {
    this.address = address;
    this.link = link;
    this.discovered = discovered;
    this.#options = options;
    this.#received = received;
  }

  get isOpen() {
    return this.link.isOpen;
  }

  connect(now) {
    if (this.#socket !== null || now < this.#retryAt || this.link.isRefused) return;
    try {
      this.#socket = this.#dealer();
    } catch (error) {
      if (!this.discovered) throw error;
      // A hub told of an address that cannot be used here.
      this.#retryAt = Infinity;
      return;
    }
    this.link.open(now);
    this.#listen(this.#socket);
  }

  /** Hears what becomes of the connection itself. */
  #watch(socket) {
    const heard = (event, act) =>
      socket.events.on(event, () => {
        if (socket !== this.#socket) return;
        act();
        this.#received();
      });
    const broken = () => {
      // It is tried again and again; once is enough to say it.
      if (this.#said) return;
      this.#said = true;
      this.#options.logger(`hub ${this.address}: the encrypted connection fails; is the server key the hub's?`);
    };
    // The hub knows a connection, not a socket: over the next one it would not know the session.
    heard('disconnect', () => this.link.cut('the connection is gone'));
    heard('handshake:error:auth', () => this.link.refuse("key_refused: the hub does not know this worker's key"));
    heard('handshake:error:protocol', broken);
    heard('handshake:error:other', broken);
  }

  /** Says what is due. What a full queue does not take is said again later. */
  flush(now) {
    this.link.tick(now);
    for (const frames of this.link.outbox.splice(0)) this.#socket?.send(frames).catch(() => {});
  }

  get nextDue() {
    if (this.#socket !== null) return this.link.nextDue;
    return this.link.isRefused ? Infinity : this.#retryAt;
  }

  /** The next pause is a short one, unless the hub has sent a message over the limit. */
  welcomed() {
    if (!this.link.overLimit) this.failures = 0;
    this.#said = false;
  }

  /** Another socket, after a pause that grows and is returned; not all workers at the same moment. */
  tryAgain(now) {
    this.close();
    const pause = Math.min(FIRST_PAUSE * 2 ** this.failures, LONGEST_PAUSE) * (0.5 + Math.random() / 2);
    this.failures = Math.min(this.failures + 1, MOST_DOUBLINGS);
    this.#retryAt = now + pause;
    return pause;
  }

  /** It is of no use any more, whoever still has it. */
  retire() {
    this.close();
    this.#retryAt = Infinity;
  }

  /** What was said last to a hub that is there may still go out, for so long. */
  close(last = 0) {
    if (this.#socket !== null && this.isOpen) this.#socket.linger = last;
    this.#socket?.close();
    this.#socket = null;
  }

  async #listen(socket) {
    let turn = performance.now();
    try {
      for await (const frames of socket) {
        if (socket !== this.#socket) return;
        this.link.receive(frames, performance.now());
        this.#received();
        if (performance.now() - turn >= TURN) {
          await setImmediate();
          turn = performance.now();
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
      // A socket that cannot take a message at once says so, and never keeps the worker waiting.
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
