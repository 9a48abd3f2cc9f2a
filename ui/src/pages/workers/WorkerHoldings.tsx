import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, call, type Schemas } from "@/api/client";
import { sessionQuery, workerQuery } from "@/api/queries";
import {
  BreakerBadge,
  Button,
  Dialog,
  ErrorBox,
  Input,
  Labels,
  RelativeTime,
  SkeletonLines,
  toast,
  toastError,
} from "@/components";
import { lastSegment } from "@/lib/names";
import { duration } from "@/lib/time";

type Worker = Schemas["WorkerView"];

/** What one worker is, what it holds, and its drain. */
export function WorkerHoldings({ id }: { id: string }) {
  const found = useQuery(workerQuery(id));
  const session = useQuery(sessionQuery);
  const [leaving, setLeaving] = useState(false);
  if (found.error) return <ErrorBox error={found.error} onRetry={() => void found.refetch()} />;
  if (!found.data) return <SkeletonLines lines={8} />;
  const { worker, attempts } = found.data;
  const mayDrain = session.data !== undefined && session.data.role !== "viewer";
  const facts: [string, string][] = [
    ["Id", worker.id],
    ["Host", `${worker.host}, process ${worker.pid}`],
    ["Software", `${worker.language} ${worker.sdk_version}`],
    ["Load", `${worker.running ?? 0} run and ${worker.waiting ?? 0} wait, of ${worker.capacity ?? 0} at once`],
    ["Heard", `${duration(worker.silent_seconds ?? 0)} ago, up for ${duration(worker.up_seconds ?? 0)}`],
    ["Hubs", worker.hubs?.join(", ") || "none"],
    ["Handlers", worker.handlers?.join(", ") || "none"],
    ["Attempts", `${worker.executed ?? 0} executed, ${worker.failed ?? 0} failed, ${worker.lost ?? 0} lost`],
  ];
  return (
    <>
      <div className="border-line border-b px-4 py-3">
        <dl className="grid grid-cols-[5rem_minmax(0,1fr)] gap-x-3 gap-y-1.5 text-sm">
          <dt className="text-ink-3 text-xs leading-5">Labels</dt>
          <dd>
            <Labels labels={worker.labels} none="none" wrap />
          </dd>
          {worker.breaker && worker.breaker !== "closed" && (
            <>
              <dt className="text-ink-3 text-xs leading-5">Breaker</dt>
              <dd className="foreign">
                <BreakerBadge state={worker.breaker} /> {worker.cause}
              </dd>
            </>
          )}
          {facts.map(([label, value]) => (
            <div key={label} className="contents">
              <dt className="text-ink-3 text-xs leading-5">{label}</dt>
              <dd className="foreign">{value}</dd>
            </div>
          ))}
        </dl>
        <div className="mt-3 flex items-center gap-3">
          <Button small look="danger" disabled={worker.draining || !mayDrain} onClick={() => setLeaving(true)}>
            Drain
          </Button>
          {!mayDrain && <span className="text-ink-3 text-xs">Draining needs the role operator.</span>}
          {worker.draining && (
            <span className="foreign text-ink-2 text-xs">
              It drains: {worker.drain_reason ?? "no reason was given"}
            </span>
          )}
        </div>
      </div>
      <section aria-label="What it holds" className="px-4 py-3">
        <h3 className="mb-2 font-semibold text-sm">
          Holds <span className="font-normal text-ink-3">{attempts.length}</span>
        </h3>
        {attempts.length === 0 && <p className="text-ink-2 text-sm">Nothing: it waits for work.</p>}
        <ul className="grid gap-1">
          {attempts.map((each) => (
            <li key={`${each.run_id} ${each.task} ${each.attempt}`} className="flex items-baseline gap-3 text-sm">
              <Link
                to="/runs/$runId"
                params={{ runId: each.run_id }}
                search={{ task: each.task }}
                className="foreign min-w-0 flex-1 truncate hover:underline"
              >
                <span className="font-medium">{lastSegment(each.workflow)}</span> · {each.task}
              </Link>
              {each.attempt > 1 && <span className="text-wait text-xs">attempt {each.attempt}</span>}
              <span className="text-ink-2 text-xs">
                <RelativeTime at={each.since} />
              </span>
            </li>
          ))}
        </ul>
      </section>
      <Drain worker={worker} open={leaving} onClose={() => setLeaving(false)} />
    </>
  );
}

function Drain({ worker, open, onClose }: { worker: Worker; open: boolean; onClose: () => void }) {
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const drain = useMutation({
    mutationFn: () =>
      call(
        api.POST("/api/v1/workers/{worker}/drain", {
          params: { path: { worker: worker.id } },
          body: { reason: reason.trim() || "drained in the web interface" },
        }),
      ),
    onSuccess: () => {
      toast(`${worker.name} drains`);
      void client.invalidateQueries({ queryKey: ["workers"] });
    },
    onError: (error) => toastError("The worker was not drained", error),
    onSettled: onClose,
  });
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={`Drain ${worker.name}`}
      actions={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button look="danger" busy={drain.isPending} onClick={() => drain.mutate()}>
            Drain
          </Button>
        </>
      }
    >
      <p className="mb-3 text-sm">It gets no new tasks, ends what it holds, and then leaves.</p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          drain.mutate();
        }}
      >
        <Input
          label="Reason"
          hint="It stands beside the worker until it has left."
          placeholder="drained in the web interface"
          maxLength={1_000}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      </form>
    </Dialog>
  );
}
