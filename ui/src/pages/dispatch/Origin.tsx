import type { ReactNode } from "react";
import type { Schemas } from "@/api/client";
import { Code, RelativeTime } from "@/components";

/** Says where the rules in force come from. */
export function Origin({ routing }: { routing: Schemas["RoutingInForce"] }): ReactNode {
  switch (routing.origin) {
    case "database":
      return (
        <>
          Version {routing.version}, in force on every server of this database
          {routing.updated_by && (
            <>
              {", put "}
              <RelativeTime at={routing.updated_at} /> by <span className="foreign">{routing.updated_by}</span>
            </>
          )}
        </>
      );
    case "config":
      return (
        <>
          The rules of this server's configuration
          {routing.file && (
            <>
              {", "}
              <Code>{routing.file}</Code>
            </>
          )}
        </>
      );
    default:
      return "The rules that this server's program gave it: they cannot be changed here.";
  }
}
