import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Schemas } from "@/api/client";
import { shortId } from "@/lib/names";
import { RelativeTime } from "./Times";

type Trigger = Schemas["RunTrigger"];

/** How a run was started, with a link to what started it. */
export function RunTrigger({ trigger }: { trigger: Trigger | null | undefined }): ReactNode {
  if (!trigger) return "–";
  const { kind, name, run_id: other, key, due_at: due, decision, actor } = trigger;
  switch (kind) {
    case "parent":
    case "rerun":
      return (
        <>
          {kind === "parent" ? "a task of run " : "a rerun of "}
          <Link to="/runs/$runId" params={{ runId: other ?? "" }} className="font-mono text-accent-text underline">
            {shortId(other ?? "")}
          </Link>
        </>
      );
    case "schedule":
      return (
        <>
          {decision === "backfill" ? "a backfill of schedule " : "schedule "}
          <Link to="/schedules" className="foreign text-accent-text underline">
            {name}
          </Link>
          {decision === "manual" ? (
            actor && <span className="foreign">, fired by {actor}</span>
          ) : (
            <>
              {", due "}
              <RelativeTime at={due} />
            </>
          )}
        </>
      );
    case "trigger":
      return <Named what="trigger" name={name} more={key && `event ${key}`} />;
    case "webhook":
      return <Named what="webhook" name={name ?? "that was deleted"} more={key && `delivery ${key}`} />;
    case "api":
      return <Named what="the API, token" name={name} />;
    case "web":
      return <Named what="the web interface, token" name={name} />;
    case "cli":
      return <Named what={name ? "the command line, token" : "the command line"} name={name} />;
    default:
      return "a program";
  }
}

function Named({ what, name, more }: { what: string; name?: string | null; more?: string | null }) {
  return (
    <span className="foreign">
      {what}
      {name && (
        <>
          {" "}
          <b className="font-medium">{name}</b>
        </>
      )}
      {more && `, ${more}`}
    </span>
  );
}

const WORDS: Record<Trigger["kind"], string> = {
  api: "API",
  web: "web",
  cli: "CLI",
  program: "program",
  schedule: "schedule",
  trigger: "trigger",
  webhook: "webhook",
  parent: "task of",
  rerun: "rerun of",
};

/** How a run was started, in few words. */
export function ShortTrigger({ trigger }: { trigger: Trigger | null | undefined }): ReactNode {
  if (!trigger) return null;
  const { kind, name, run_id: other } = trigger;
  return (
    <>
      {WORDS[kind] ?? kind}{" "}
      {other ? (
        <Link to="/runs/$runId" params={{ runId: other }} className="font-mono text-accent-text hover:underline">
          {shortId(other)}
        </Link>
      ) : (
        name && <span className="foreign text-ink-3">{name}</span>
      )}
    </>
  );
}
