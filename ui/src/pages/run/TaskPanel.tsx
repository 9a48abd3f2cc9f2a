import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import type { Schemas } from "@/api/client";
import { runGraphQuery, runTaskQuery } from "@/api/queries";
import { taskInputPath, taskOutputPath } from "@/api/values";
import {
  Badge,
  Button,
  Duration,
  EmptyState,
  ErrorBox,
  Icon,
  Panel,
  RelativeTime,
  SkeletonLines,
  StateBadge,
  Tabs,
} from "@/components";
import { cx } from "@/lib/cx";
import { ENDED, stateOfOutcome } from "@/lib/states";
import { LogView } from "./LogView";
import { RerunDialog } from "./RerunDialog";
import { ProgressBar } from "./TasksTab";
import { hasInput } from "./taskInput";
import { progressOf } from "./tasks";
import { RunInput } from "./ValuesTab";
import { ForeignText, ValueView } from "./ValueView";

type TaskDetail = Schemas["TaskDetail"];

const VIEWS = ["details", "logs", "output"] as const;
type View = (typeof VIEWS)[number];
const PROGRESS_INTERVAL = 2_000;
/** Seconds from which on the queue time of an attempt is named. */
const SHOWN_QUEUE = 0.1;

interface TaskPanelProps {
  run: Schemas["RunDetail"];
  task: string;
  view: string | undefined;
  onView: (view: string) => void;
  /** What is searched in the log. */
  find: string | undefined;
  onFind: (text: string | undefined) => void;
  onSelect: (task: string) => void;
  onClose: () => void;
}

/** One task: its attempts and where they ran, why it waits, its error, its output and its log. */
export function TaskPanel({ run, task: name, view, onView, find, onFind, onSelect, onClose }: TaskPanelProps) {
  const task = useQuery({
    ...runTaskQuery(run.id, name),
    placeholderData: undefined,
    // Progress is no event of the run.
    refetchInterval: (query) => (query.state.data?.state === "running" ? PROGRESS_INTERVAL : false),
  });
  const [rerun, setRerun] = useState(false);
  const active: View = VIEWS.find((each) => each === view) ?? "details";
  const ended = ENDED.has(run.state);
  const from = name.replace(/\[\d+\]$/, "");
  return (
    <Panel
      title={name}
      onClose={onClose}
      aside={
        ended && (
          <Button small icon="rerun" onClick={() => setRerun(true)}>
            Rerun from here
          </Button>
        )
      }
    >
      <div className="flex h-full flex-col">
        {task.data && <Facts task={task.data} />}
        <Tabs
          label="About the task"
          tabs={[
            { key: "details", label: "Details" },
            { key: "logs", label: "Log" },
            { key: "output", label: "Output" },
          ]}
          active={active}
          onChange={onView}
        >
          {active === "logs" ? (
            <LogView
              key={`${run.id} ${name}`}
              runId={run.id}
              task={name}
              live={!ended}
              position={run.position}
              find={find}
              onFind={onFind}
            />
          ) : task.error && !task.data ? (
            <ErrorBox error={task.error} onRetry={() => void task.refetch()} />
          ) : !task.data ? (
            <SkeletonLines lines={6} />
          ) : active === "output" ? (
            <div className="min-h-0 flex-1 overflow-auto p-4">
              {task.data.state === "completed" ? (
                <ValueView path={taskOutputPath(run.id, name)} label="Output" />
              ) : (
                <EmptyState icon="info" title="No output">
                  A task has its output once it has completed; this one is {task.data.state}.
                </EmptyState>
              )}
            </div>
          ) : (
            <Details run={run} task={task.data} onSelect={onSelect} onView={onView} />
          )}
        </Tabs>
      </div>
      {rerun && <RerunDialog runId={run.id} from={from} onClose={() => setRerun(false)} />}
    </Panel>
  );
}

function Facts({ task }: { task: TaskDetail }) {
  const progress = progressOf(task.progress);
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2 text-ink-2 text-xs md:px-6">
      <StateBadge state={task.state} />
      {task.started_at && (
        <span>
          <Duration from={task.started_at} to={task.finished_at} />
        </span>
      )}
      {task.executor && (
        <span className="flex items-center gap-1">
          <Icon name="dispatch" size={13} />
          <span className="foreign">{task.executor}</span>
        </span>
      )}
      {progress && <ProgressBar progress={progress} />}
      {task.hook && <Badge>hook</Badge>}
      {task.child_run && (
        <Link to="/runs/$runId" params={{ runId: task.child_run }} className="text-accent-text underline">
          its run
        </Link>
      )}
    </div>
  );
}

interface DetailsProps {
  run: Schemas["RunDetail"];
  task: TaskDetail;
  onSelect: (task: string) => void;
  onView: (view: string) => void;
}

function Details({ run, task, onSelect, onView }: DetailsProps) {
  const graph = useQuery(runGraphQuery(run.id));
  const own = task.group ?? task.name;
  const before = graph.data?.edges.filter((edge) => edge.to === own).map((edge) => edge.from) ?? [];
  const attempts = [...(task.attempts ?? [])].reverse();
  return (
    <div className="grid min-h-0 flex-1 content-start gap-5 overflow-auto p-4 md:px-6">
      {task.wait && (
        <div className="grid gap-1.5 rounded-md border border-wait-mark/40 bg-wait-soft p-3 text-sm">
          <p className="flex items-center gap-2 font-semibold text-wait">
            <Icon name="schedules" size={15} /> Why it waits
          </p>
          {task.reason && <p className="foreign font-medium">{task.reason}</p>}
          <p className="foreign">{task.wait.meaning}</p>
          <p className="foreign">
            <b className="font-semibold">What ends it:</b> {task.wait.remedy}
          </p>
        </div>
      )}
      {task.error && (
        <Section title="Error">
          <p className="foreign font-medium text-bad">
            {task.error.type}: {task.error.message}
          </p>
          {task.error.code && <p className="font-mono text-2xs text-ink-3">{task.error.code}</p>}
          {task.error.traceback && <ForeignText text={task.error.traceback} label="Traceback" />}
          <div>
            <Button small look="quiet" icon="list" onClick={() => onView("logs")}>
              Its log
            </Button>
          </div>
        </Section>
      )}
      <Section title="Attempts">
        {attempts.length > 0 ? (
          <ol className="grid gap-2">
            {attempts.map((attempt) => (
              <Attempt key={attempt.attempt} attempt={attempt} shown={task.error?.traceback} />
            ))}
          </ol>
        ) : (
          <p className="text-ink-3 text-xs">
            {ENDED.has(task.state)
              ? "It never started: its result was reused, or it was not needed."
              : "None has begun."}
          </p>
        )}
      </Section>
      {!task.error && task.decision && (
        <Section title="Why there">
          <p className="foreign text-ink-2">{task.decision}</p>
        </Section>
      )}
      <Section title="Input">
        {task.index !== undefined && task.index !== null && (
          <p className="text-ink-2">
            Item {task.index} of the list that <span className="foreign">{own}</span> is mapped over.
          </p>
        )}
        {hasInput(task) && (
          <Disclosure title={task.name} about="what it is called with">
            <ValueView path={taskInputPath(run.id, task.name)} label={`Input of ${task.name}`} />
          </Disclosure>
        )}
        {before.map((each) => (
          <Disclosure key={each} title={each} about="its result">
            <ValueView path={taskOutputPath(run.id, each)} label={`Result of ${each}`} />
            <Button small look="quiet" icon="chevron" onClick={() => onSelect(each)}>
              Show the task
            </Button>
          </Disclosure>
        ))}
        <Disclosure title="run" about="the input of the run">
          <RunInput run={run} />
        </Disclosure>
      </Section>
    </div>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="grid min-w-0 gap-2 text-sm">
      <h3 className="font-semibold text-ink-3 text-xs">{title}</h3>
      {children}
    </section>
  );
}

/** More that is read, or shown, when it is opened. */
function Disclosure({ title, about, children }: { title: string; about: string; children: ReactNode }) {
  const [opened, setOpened] = useState(false);
  return (
    <div className="grid min-w-0 gap-2">
      <button
        type="button"
        aria-expanded={opened}
        onClick={() => setOpened(!opened)}
        className="flex min-w-0 items-center gap-1.5 rounded-md py-1 text-left hover:bg-hover"
      >
        <span aria-hidden="true" className={cx("transition-transform", opened && "rotate-90")}>
          <Icon name="chevron" size={14} />
        </span>
        <span className="foreign truncate font-medium">{title}</span>
        <span className="text-ink-3 text-xs">{about}</span>
      </button>
      {opened && <div className="grid min-w-0 justify-items-start gap-1 pl-5 *:w-full">{children}</div>}
    </div>
  );
}

/** One attempt; its traceback on demand, unless it is `shown` as that of the task. */
function Attempt({ attempt, shown }: { attempt: Schemas["AttemptView"]; shown: string | undefined }) {
  const outcome = attempt.outcome ?? "running";
  const late = (attempt.started_at ?? 0) > (attempt.ended_at ?? Number.POSITIVE_INFINITY);
  const queued = late ? 0 : (attempt.started_at ?? 0) - (attempt.began_at ?? 0);
  return (
    <li className="grid gap-1 rounded-md border border-line p-2.5">
      <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1 text-xs">
        <span className="font-semibold text-sm">#{attempt.attempt}</span>
        <StateBadge state={stateOfOutcome(outcome)}>{outcome}</StateBadge>
        {attempt.executor && <span className="foreign">{attempt.executor}</span>}
        {attempt.worker && (
          <span className="flex items-center gap-1">
            <Icon name="workers" size={13} />
            <span className="foreign">{attempt.worker}</span>
          </span>
        )}
        <span className="ml-auto flex gap-2 text-ink-3">
          <RelativeTime at={attempt.began_at} />
          {queued >= SHOWN_QUEUE && (
            <span title="on its way to the executor, or queued there">
              queued <Duration from={attempt.began_at} to={attempt.started_at} />
            </span>
          )}
          <span className="text-ink-2">
            <Duration from={queued > 0 ? attempt.started_at : attempt.began_at} to={attempt.ended_at} />
          </span>
        </span>
      </div>
      {attempt.decision && <p className="foreign text-ink-2 text-xs">{attempt.decision}</p>}
      {attempt.reason && <p className="foreign text-ink-2 text-xs">{attempt.reason}</p>}
      {attempt.error && <p className="foreign text-bad text-xs">{attempt.error}</p>}
      {attempt.traceback && attempt.traceback !== shown && (
        <Disclosure title="Traceback" about={`of attempt ${attempt.attempt}`}>
          <ForeignText text={attempt.traceback} label={`Traceback of attempt ${attempt.attempt}`} />
        </Disclosure>
      )}
    </li>
  );
}
