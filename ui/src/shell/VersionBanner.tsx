import { Button, Icon } from "@/components";
import { BUILD } from "@/lib/page";

/** Says that the server has another version of the interface than this page is from. */
export function VersionBanner({ server, build }: { server: string | undefined; build: string | null | undefined }) {
  if (!BUILD || build === undefined || build === BUILD) return null;
  return (
    <div
      role="status"
      className="flex items-center justify-center gap-3 border-line border-b bg-wait-soft px-4 py-1.5 text-wait text-xs"
    >
      <Icon name="info" size={14} />
      <span>
        The server is now Turnout {server}, and this page is of another version. Load it again to see all of it.
      </span>
      <Button small onClick={() => location.reload()}>
        Reload
      </Button>
    </div>
  );
}
