import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Schemas } from "@/api/client";
import { Badge, Card, EmptyState, ErrorBox, Icon, Labels, RelativeTime, Select, SkeletonLines } from "@/components";
import { cx } from "@/lib/cx";
import { shortId } from "@/lib/names";
import { counted, whole } from "@/lib/numbers";
import { type Place, type Shift, shiftsOf, totals } from "./shifts";
import { MAX_REPLAYED, type Trial } from "./trial";

type Result = Schemas["WhatIfResult"];

const SPANS = [1, 7, 30];
/** Tasks of one group that are shown. */
const SHOWN = 20;

interface WhatIfProps {
  /** Null while the rules are those in force. */
  trial: Trial | null;
  /** True if the server refuses the rules: there is nothing to try. */
  refused: boolean;
  days: number;
  onDays: (days: number) => void;
}

/** What changed rules would have done to the tasks of the last days, by where they went and would go. */
export function WhatIf({ trial, refused, days, onDays }: WhatIfProps) {
  return (
    <Card
      title="What would change"
      flush
      aside={
        <Select
          label="Tasks of the last days"
          hidden
          value={days}
          onChange={(event) => onDays(Number(event.target.value))}
          className="w-36"
        >
          {SPANS.map((each) => (
            <option key={each} value={each}>
              {each === 1 ? "the last day" : `the last ${each} days`}
            </option>
          ))}
        </Select>
      }
    >
      <Content trial={trial} refused={refused} />
    </Card>
  );
}

function Content({ trial, refused }: Pick<WhatIfProps, "trial" | "refused">) {
  if (refused) {
    return (
      <EmptyState icon="alert" title="These rules cannot work">
        The findings below the text say why. Nothing is tried until they are mended.
      </EmptyState>
    );
  }
  if (trial === null) {
    return (
      <EmptyState icon="dispatch" title="The rules are those in force">
        Change the text: the decisions of the last days are made again by your rules, and those that would be others are
        listed here. Nothing is changed by that.
      </EmptyState>
    );
  }
  if (trial.error && !trial.data) return <ErrorBox error={trial.error} onRetry={() => void trial.refetch()} />;
  if (!trial.data) return <SkeletonLines lines={6} />;
  return <Found result={trial.data} pending={trial.isPlaceholderData || trial.isFetching} />;
}

/** The result of a trial. */
export function Found({ result, pending = false }: { result: Result; pending?: boolean }) {
  const shifts = useMemo(() => shiftsOf(result.changes ?? []), [result]);
  return (
    <div className={cx("transition-opacity", pending && "opacity-60")} aria-busy={pending}>
      <Summary result={result} shifts={shifts} />
      <ul aria-label="Changes">
        {shifts.map((shift, index) => (
          <ShiftItem key={index} shift={shift} />
        ))}
      </ul>
    </div>
  );
}

export function Summary({ result, shifts }: { result: Result; shifts: readonly Shift[] }) {
  const { changed, refused } = totals(shifts);
  const tone = refused > 0 ? "bg-bad-soft text-bad" : changed > 0 ? "bg-wait-soft text-wait" : "bg-ok-soft text-ok";
  return (
    <p className={cx("flex flex-wrap items-center gap-x-2 gap-y-0.5 px-3.5 py-2 text-sm", tone)}>
      <Icon name={refused > 0 ? "alert" : changed > 0 ? "info" : "check"} />
      <span>
        <b className="font-semibold">{changed === 0 ? "No decision" : whole(changed)}</b> of{" "}
        {counted(result.replayed, "decision")} would change
        {refused > 0 && `; ${whole(refused)} of them would be refused`}.
      </span>
      {result.since != null && (
        <span className="ml-auto text-xs">
          {result.replayed >= MAX_REPLAYED ? "the newest, " : ""}since <RelativeTime at={result.since} />
        </span>
      )}
    </p>
  );
}

function ShiftItem({ shift }: { shift: Shift }) {
  return (
    <li className="border-line border-t px-3.5 py-2.5">
      <div className="mb-1.5 flex flex-wrap items-center gap-1.5 text-sm">
        <At place={shift.from} />
        <Icon name="chevron" size={14} />
        {shift.to === null ? <Badge tone="bad">refused</Badge> : <At place={shift.to} />}
        <span className="ml-auto text-ink-2 text-xs">
          {counted(shift.count, "decision")} of {counted(shift.tasks.length, "task")}
        </span>
      </div>
      <ul className="grid gap-1">
        {shift.tasks.slice(0, SHOWN).map((each) => (
          <li key={`${each.task} ${each.refusal}`} className="grid gap-x-3 text-xs sm:grid-cols-[minmax(0,1fr)_auto]">
            <span className="foreign truncate font-mono" title={each.task}>
              {each.task}
            </span>
            <span className="flex items-center gap-2 text-ink-2">
              {whole(each.count)}×
              <Link
                to="/runs/$runId"
                params={{ runId: each.run_id }}
                className="font-mono text-accent-text underline"
                aria-label={`The newest run of ${each.task}`}
              >
                {shortId(each.run_id)}
              </Link>
            </span>
            <span className={cx("foreign text-2xs sm:col-span-2", each.refusal ? "text-bad" : "text-ink-3")}>
              {each.refusal ?? `by ${each.now?.reason}`}
            </span>
          </li>
        ))}
      </ul>
      {shift.tasks.length > SHOWN && (
        <p className="mt-1 text-ink-3 text-xs">and {counted(shift.tasks.length - SHOWN, "more task")}</p>
      )}
    </li>
  );
}

function At({ place }: { place: Place }) {
  return (
    <span className="flex flex-wrap items-center gap-1">
      <Badge tone="run">{place.executor}</Badge>
      <Labels labels={place.labels} wrap />
    </span>
  );
}
