/** The actions that a session asks of the owner of its socket. */

/** End the handler of this token. */
export const stop = (token, reason) => ({ type: 'stop', token, reason });

/** The hub has sent welcome; `before` is the hub that answered at this address before, if it was another. */
export const sessionOpened = (hub, before) => ({ type: 'sessionOpened', hub, before });

/** Replace this connection after a backoff, and open the session again. */
export const reconnect = (reason) => ({ type: 'reconnect', reason });

/** The hub asks this worker to drain. */
export const drainRequested = (reason) => ({ type: 'drainRequested', reason });

/** The hub has sent bye, or refuses this worker: then the session is refused. */
export const hubClosed = (reason) => ({ type: 'hubClosed', reason });
