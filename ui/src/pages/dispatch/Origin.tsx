import type { Schemas } from "@/api/client";
import { Badge, Code, RelativeTime } from "@/components";

/** Says where the rules in force come from. */
export function Origin({ routing }: { routing: Schemas["RoutingInForce"] }) {
  return (
    <span className="flex flex-wrap items-center gap-x-1.5 gap-y-1">
      {routing.origin === "database" && (
        <>
          Version {routing.version}, in force on every server of this database
          {routing.updated_by && (
            <span>
              {", put "}
              <RelativeTime at={routing.updated_at} /> by <span className="foreign">{routing.updated_by}</span>
            </span>
          )}
        </>
      )}
      {routing.origin === "config" && (
        <>
          The rules of this server's configuration
          {routing.file && (
            <span>
              , <Code>{routing.file}</Code>
            </span>
          )}
        </>
      )}
      {routing.origin === "program" && (
        <>
          The rules that this server's program gave it <Badge>cannot be changed here</Badge>
        </>
      )}
    </span>
  );
}
