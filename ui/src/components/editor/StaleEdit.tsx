import type { SourceText } from "@/api/queries";
import { Button, Dialog, TextDiff } from "@/components";

interface StaleEditProps {
  open: boolean;
  mine: string;
  newest: SourceText;
  onClose: () => void;
  /** The newest version replaces the changes. */
  onTake: () => void;
  /** The changes go on, on top of the newest version. */
  onKeep: () => void;
}

/** Shows how a change differs from the version that came in between, and has the viewer choose. */
export function StaleEdit({ open, mine, newest, onClose, onTake, onKeep }: StaleEditProps) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      wide
      title="Another version came in between"
      actions={
        <>
          <Button onClick={onClose}>Decide later</Button>
          <Button look="danger" onClick={onTake}>
            Discard mine, take the newest
          </Button>
          <Button look="primary" onClick={onKeep}>
            Keep editing mine
          </Button>
        </>
      }
    >
      <p className="mb-3 text-ink-2 text-sm">
        Nothing was saved. This is what your text would change in version {newest.etag.replaceAll('"', "")}, which is in
        force now. If you keep yours, edit it further or save it: it then replaces that version.
      </p>
      <div className="overflow-hidden rounded-md border border-line">
        <TextDiff label="Your text against the newest version" before={newest.text} after={mine} />
      </div>
    </Dialog>
  );
}
