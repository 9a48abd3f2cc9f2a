import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { limitQuery } from "@/api/queries";
import { ErrorBox, RelativeTime, SkeletonLines } from "@/components";
import { lastSegment, shortId } from "@/lib/names";

type Holder = Schemas["LimitHolder"];

/** The holders of a limit, and those that wait for it in the order in which they get their slots. */
export function LimitUsers({ name }: { name: string }) {
  const limit = useQuery(limitQuery(name));
  if (limit.error) return <ErrorBox error={limit.error} onRetry={() => void limit.refetch()} />;
  if (!limit.data) return <SkeletonLines lines={6} />;
  return (
    <>
      <Users title="Holders" users={limit.data.holders} none="It is free." />
      <Users title="Waiting" users={limit.data.waiters} none="Nothing waits for it." />
    </>
  );
}

function Users({ title, users, none }: { title: string; users: readonly Holder[]; none: string }) {
  return (
    <section aria-label={title} className="border-line border-b px-4 py-3">
      <h3 className="mb-2 font-semibold text-sm">
        {title} <span className="font-normal text-ink-3">{users.length}</span>
      </h3>
      {users.length === 0 && <p className="text-ink-2 text-sm">{none}</p>}
      <ol className="grid gap-1">
        {users.map((user) => (
          <li key={`${user.run_id} ${user.task}`} className="flex items-baseline gap-3 text-sm">
            {user.position != null && <span className="w-6 shrink-0 text-right text-ink-3">{user.position}.</span>}
            <Link
              to="/runs/$runId"
              params={{ runId: user.run_id }}
              search={user.task === null ? {} : { task: user.task }}
              className="foreign min-w-0 flex-1 truncate hover:underline"
            >
              <span className="font-medium">{lastSegment(user.workflow)}</span>
              {user.task !== null && ` · ${user.task}`}{" "}
              <span className="font-mono text-ink-3 text-xs">{shortId(user.run_id)}</span>
            </Link>
            {user.priority !== 0 && <span className="text-ink-3 text-xs">priority {user.priority}</span>}
            <span className="text-ink-2 text-xs">
              <RelativeTime at={user.since} />
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
