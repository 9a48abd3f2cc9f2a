/** What does a link ask of whoever owns its socket? */

/** End the handler of this token. */
export const stop = (token, reason) => ({ type: 'stop', token, reason });

/** The hub has let us in; `before` is the hub that answered at this address earlier, if it was another. */
export const welcomed = (hub, before) => ({ type: 'welcomed', hub, before });

/** This connection is of no use any more: make another, after a pause, and open the link again. */
export const reconnect = (reason) => ({ type: 'reconnect', reason });

/** The hub wants this worker to end. */
export const drain = (reason) => ({ type: 'drain', reason });

/** The hub has said bye, or does not want this worker: then the link is refused. */
export const parted = (reason) => ({ type: 'parted', reason });
