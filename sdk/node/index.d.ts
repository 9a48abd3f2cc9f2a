/** Types of the Node worker of Turnout. */

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Stream = 'stdout' | 'stderr' | 'log';

/** The argument of a handler. */
export interface Step {
  readonly id: string;
  readonly name: string;
  readonly taskId: string;
  /** The arguments of this step by name; those without names are in `positional`. */
  readonly args: Record<string, any>;
  readonly positional: any[];
  /** The input of the run. */
  readonly context: any;
  /** The outputs of the steps that this one depends on, by name. */
  readonly previous: Record<string, any>;
  /** The handler's own settings, as the workflow gives them. */
  readonly config: Record<string, any>;
  /** Different for every attempt of every step. */
  readonly token: string;
  /** 0 is the first. */
  readonly attempt: number;
  readonly retryLimit: number;
  /** The same for all attempts of this step: pass it to services that support such keys. */
  readonly idempotencyKey: string | null;
  /** The header of W3C Trace Context for requests of the handler; null unless telemetry is on. */
  readonly traceparent: string | null;
  /** The value that an earlier attempt saved with Defer. */
  readonly saved: any;
  /** True for a copy whose result is only compared: it must have no side effects. */
  readonly shadow: boolean;
  /** All metadata of this attempt. */
  readonly metadata: Record<string, any>;
  /** The document as received. */
  readonly document: Record<string, any>;
  /** Aborted when the step is cancelled or has timed out; its reason is a Cancelled or a TimedOut. */
  readonly signal: AbortSignal;
  /** Writes one or more lines to the run's log. */
  log(text: string, stream?: Stream): void;
  /** Reports progress, which is shown to people and not stored. */
  progress(done: number, total?: number | null, message?: string): void;
}

export type Handler = (step: Step) => unknown;

export interface HandlerOptions {
  /** Stored with each result. */
  version?: string;
}

export interface WorkerOptions {
  /** Addresses of hubs: a list, or text with commas. TURNOUT_CONNECT. */
  connect?: string | string[];
  /** For people. TURNOUT_WORKER_NAME. */
  name?: string;
  /** An object, or text: `gpu=true,zone=a`. TURNOUT_WORKER_LABELS. */
  labels?: string | Record<string, string | number | boolean>;
  /** How many handlers run at once, 4; twice as many steps are held, and more while they are quick. TURNOUT_WORKER_CONCURRENCY. */
  concurrency?: number;
  /**
   * The hub's public key and the worker's own pair, Z85 text; the pair may be in a file of `turnout keys generate`.
   * TURNOUT_CURVE_SERVER_KEY, and TURNOUT_CURVE_KEY_FILE or TURNOUT_CURVE_PUBLIC_KEY and TURNOUT_CURVE_SECRET_KEY.
   */
  curve?: { serverKey?: string; keyFile: string } | { serverKey?: string; publicKey?: string; secretKey?: string };
  /** Whether to connect to the other hubs that a hub names; it does. */
  discover?: boolean;
  /** Seconds that running steps get to finish when the worker stops, 30. */
  grace?: number;
  /** Seconds that a handler has to end once its signal is aborted, 5. */
  killGrace?: number;
  /** The largest message that is accepted from a hub, 16 MiB. */
  maxMessageBytes?: number;
  /** Receives the log lines of the worker; stderr by default. */
  logger?: (text: string) => void;
  /** The handlers of this worker; those of `handler(…)` by default. */
  registry?: Registry;
}

/** The result document of a step. */
export interface StepResult {
  step_id: string;
  status: 'completed' | 'failed' | 'error';
  output: Json;
  error: { type: string; message: string; backtrace?: string[]; mro?: string[] } | null;
  metadata: { token: string; attempt: number; retryable: boolean; [name: string]: any };
}

/** Registers a handler under the name that workflows know. */
export function handler(name: string, call: Handler, options?: HandlerOptions): Handler;

/**
 * Runs until SIGTERM or SIGINT (or a hub) asks for a drain, and every held step is done. A second signal, or the end of
 * the grace period, ends the process with exit code 1. Rejects with Refused if every hub refuses this worker.
 */
export function run(options?: WorkerOptions): Promise<void>;

/** Runs one step against one handler (a function or a registered name), without a hub and without sockets. */
export function runStep(
  handler: string | Handler,
  document?: Record<string, any>,
  options?: {
    lines?: { stream: string; text: string }[];
    progress?: { done: number; total: number | null; message: string }[];
    registry?: Registry;
    signal?: AbortSignal;
    killGrace?: number;
  },
): Promise<StepResult>;

/** A worker inside another program; it leaves signals alone. */
export class Worker {
  constructor(options?: WorkerOptions);
  run(): Promise<'drained' | 'stopped'>;
  /** Drains; the second call stops at once. */
  stop(): void;
}

export class Registry {
  register(name: string, call: Handler, options?: HandlerOptions): Handler;
  readonly names: string[];
}

/** Return it from a step that chooses which of its dependents run. */
export class Branch {
  constructor(chosen: string | string[], output?: unknown);
}

export class TurnoutError extends Error {}
/** Another attempt would not help. */
export class PermanentError extends TurnoutError {}
/** Retry, but not before so many seconds have passed. */
export class RetryAfter extends TurnoutError {
  constructor(seconds: number, message?: string);
  readonly seconds: number;
}
/** Run again from the top in so many seconds, with `saved` as `step.saved`; uses up no retry. */
export class Defer extends TurnoutError {
  constructor(seconds: number, options?: { saved?: unknown });
  readonly seconds: number;
  readonly saved: unknown;
}
export class NotJson extends TurnoutError {}
export class ConfigurationError extends TurnoutError {}
export class Refused extends TurnoutError {}
export class Cancelled extends TurnoutError {}
export class TimedOut extends TurnoutError {}
