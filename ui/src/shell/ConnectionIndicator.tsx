import { Tooltip } from "@/components";
import { cx } from "@/lib/cx";
import { useLiveStatus } from "@/live/LiveProvider";
import type { StreamStatus } from "@/live/stream";

const SAYS: Record<StreamStatus, { label: string; text: string; mark: string }> = {
  open: { label: "Live", text: "Changes arrive as they happen.", mark: "bg-ok-mark" },
  connecting: { label: "Connecting", text: "The stream of changes is being opened.", mark: "bg-wait-mark pulsing" },
  lost: {
    label: "Reconnecting",
    text: "The server does not answer. What you see may be old; it is read again once the server is back.",
    mark: "bg-bad-mark pulsing",
  },
  refused: {
    label: "Polling",
    text: "There is no stream for all of this page: the server or the browser has no more. It is read again every few seconds.",
    mark: "bg-wait-mark",
  },
  denied: { label: "Signed out", text: "The session is over: sign in again.", mark: "bg-bad-mark" },
};

/** Says whether changes arrive. */
export function ConnectionIndicator() {
  const said = SAYS[useLiveStatus()];
  return (
    <Tooltip text={said.text}>
      <span role="status" className="flex items-center gap-2 text-ink-2 text-xs" data-testid="connection">
        <span aria-hidden="true" className={cx("size-2 rounded-full", said.mark)} />
        {said.label}
      </span>
    </Tooltip>
  );
}
