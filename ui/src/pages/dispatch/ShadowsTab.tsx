import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { routingQuery, shadowsQuery } from "@/api/queries";
import {
  Badge,
  Card,
  Code,
  EmptyState,
  ErrorBox,
  RelativeTime,
  SkeletonLines,
  StateBadge,
  Tooltip,
} from "@/components";
import { cx } from "@/lib/cx";
import { lastSegment, shortId } from "@/lib/names";
import { whole } from "@/lib/numbers";
import { MARK, type Tone } from "@/lib/states";

type Report = Schemas["ShadowReport"];
type Answer = Schemas["ShadowAnswer"];

const COUNTS: { key: keyof Report & string; label: string; tone: Tone; about: string }[] = [
  { key: "same", label: "Same answer", tone: "ok", about: "The shadow answered what the real attempt did" },
  { key: "different", label: "Different", tone: "bad", about: "Another outcome, or another output" },
  { key: "unanswered", label: "No answer", tone: "idle", about: "One of the two ended without an answer" },
  {
    key: "without_room",
    label: "No slot",
    tone: "wait",
    about: "Attempts without a copy: a copy never delays the run",
  },
  { key: "forgotten", label: "Too late", tone: "idle", about: "The other answer came too late to be compared" },
];

/** How shadow attempts compare with the real ones, and the latest that differ. */
export function ShadowsTab() {
  const shadows = useQuery(shadowsQuery);
  const routing = useQuery(routingQuery);
  if (shadows.error && !shadows.data) return <ErrorBox error={shadows.error} onRetry={() => void shadows.refetch()} />;
  if (!shadows.data) return <SkeletonLines lines={6} />;
  const report = shadows.data;
  const rules = ((routing.data?.routing.rules ?? []) as Schemas["Rule"][]).filter((rule) => rule.shadow);
  const compared = COUNTS.some(({ key }) => (report[key] as number) > 0);
  if (!compared && rules.length === 0) {
    return (
      <div className="p-4 md:px-6">
        <Card flush>
          <EmptyState icon="dispatch" title="No rule makes shadow copies">
            A rule with <Code>"shadow": true</Code> sends a copy of each attempt to a second executor. Its result is
            compared with the real one and decides nothing.
          </EmptyState>
        </Card>
      </div>
    );
  }
  return (
    <div className="grid gap-4 p-4 md:px-6">
      <ul className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border border-line bg-line shadow-card sm:grid-cols-5">
        {COUNTS.map(({ key, label, tone, about }) => (
          <li key={key} className="grid gap-0.5 bg-surface px-3.5 py-2.5">
            <Tooltip text={about}>
              <span className="flex items-center gap-1.5 text-ink-2 text-xs">
                <span aria-hidden="true" className={cx("size-2 rounded-full", MARK[tone])} />
                {label}
              </span>
            </Tooltip>
            <span className="font-semibold text-xl">{whole(report[key] as number)}</span>
          </li>
        ))}
      </ul>
      <Card title="The latest that differ" flush aside="as this server has seen them since it started">
        {report.differences.length === 0 ? (
          <EmptyState icon="check" title="None differs">
            {compared ? "Every answer that was compared is the same." : "No attempt was compared yet."}
          </EmptyState>
        ) : (
          <ul aria-label="Differences">
            {report.differences.map((each) => (
              <li
                key={`${each.task_id} ${each.attempt} ${each.at}`}
                className="grid gap-2 border-line border-b px-3.5 py-2.5 last:border-b-0"
              >
                <div className="flex flex-wrap items-baseline gap-x-3 gap-y-1 text-sm">
                  <Link
                    to="/runs/$runId"
                    params={{ runId: each.run_id }}
                    search={{ task: lastSegment(each.task) }}
                    title={each.task}
                    className="foreign font-medium hover:underline"
                  >
                    {each.task.split("::").slice(-2).join(" · ")}{" "}
                    <span className="font-mono font-normal text-ink-3 text-xs">{shortId(each.run_id)}</span>
                  </Link>
                  <span className="ml-auto text-ink-2 text-xs">
                    <RelativeTime at={each.at} />
                  </span>
                </div>
                <dl className="grid gap-2 sm:grid-cols-2">
                  <Said who="the real attempt" answer={each.real} />
                  <Said who="its shadow in" executor={each.executor} answer={each.shadow} />
                </dl>
              </li>
            ))}
          </ul>
        )}
      </Card>
    </div>
  );
}

function Said({ who, executor, answer }: { who: string; executor?: string; answer: Answer }) {
  return (
    <div className="min-w-0 rounded-md bg-sunken px-2.5 py-2">
      <dt className="mb-1 flex items-center gap-1.5 text-ink-2 text-xs">
        {who}
        {executor && <Badge tone="hold">{executor}</Badge>}
        <span className="ml-auto">
          <StateBadge state={answer.status} />
        </span>
      </dt>
      <dd className="foreign max-h-24 overflow-auto font-mono text-xs">
        {answer.error ?? answer.output ?? "no output"}
      </dd>
    </div>
  );
}
