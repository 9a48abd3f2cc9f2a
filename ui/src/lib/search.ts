import type { RunState } from "./states";
import { RUN_STATES } from "./states";

/** Which part of a page is shown, and what is chosen in it. */
export interface TabSearch {
  tab?: string;
  task?: string;
  /** Which part of what is chosen. */
  view?: string;
}

/** What the page of a run shows. */
export interface RunPageSearch extends TabSearch {
  /** The mapped task whose items the timeline has. */
  group?: string;
  /** The filter of the tasks. */
  q?: string;
  /** What is searched in the log. */
  find?: string;
}

/** What the page of a workflow shows. */
export interface WorkflowPageSearch extends TabSearch {
  /** The versions of the graph that are compared. */
  before?: string;
  after?: string;
  /** The version of the text whose changes are shown. */
  text?: number;
}

/** The filter of the list of runs. */
export interface RunSearch {
  workflow?: string;
  state?: RunState[];
  tag?: string[];
  key?: string;
  /** Bounds of the time of submission, in seconds since 1970. */
  from?: number;
  until?: number;
  /** Without child runs. */
  top?: true;
}

/** The filter of the list of workflows. */
export interface WorkflowSearch {
  q?: string;
  tag?: string[];
  kind?: "yaml" | "python";
  broken?: boolean;
}

type Given = Record<string, unknown>;

/** Returns the part of an address that pages with tabs understand; the rest is left out. */
export function tabSearch(given: Given): TabSearch {
  return without({ tab: text(given.tab), task: text(given.task), view: text(given.view) });
}

export function runPageSearch(given: Given): RunPageSearch {
  return without({ ...tabSearch(given), group: text(given.group), q: text(given.q), find: text(given.find) });
}

export function workflowPageSearch(given: Given): WorkflowPageSearch {
  return without({
    ...tabSearch(given),
    before: text(given.before),
    after: text(given.after),
    text: typeof given.text === "number" ? given.text : undefined,
  });
}

export function runSearch(given: Given): RunSearch {
  const states = texts(given.state)?.filter((each): each is RunState => (RUN_STATES as string[]).includes(each));
  return without({
    workflow: text(given.workflow),
    state: states?.length ? states : undefined,
    tag: texts(given.tag),
    key: text(given.key),
    from: time(given.from),
    until: time(given.until),
    top: given.top === true || given.top === "true" ? true : undefined,
  });
}

export function workflowSearch(given: Given): WorkflowSearch {
  return without({
    q: text(given.q),
    tag: texts(given.tag),
    kind: given.kind === "yaml" || given.kind === "python" ? given.kind : undefined,
    broken: given.broken === true ? true : undefined,
  });
}

function text(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

function time(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 ? value : undefined;
}

function texts(value: unknown): string[] | undefined {
  const all = (Array.isArray(value) ? value : [value]).map(text).filter((each) => each !== undefined);
  return all.length > 0 ? all : undefined;
}

function without<T extends object>(values: T): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T;
}
