import { Dialog } from "@/components";
import { useStore } from "@/lib/store";
import { type Shortcut, shortcuts } from "./shortcuts";

/** Lists the shortcuts that hold on this page. */
export function ShortcutHelp({ open, onClose }: { open: boolean; onClose: () => void }) {
  const held = useStore(shortcuts);
  const groups = new Map<string, Shortcut[]>();
  for (const each of held) groups.set(each.group, [...(groups.get(each.group) ?? []), each]);
  return (
    <Dialog open={open} onClose={onClose} title="Keyboard" wide>
      <div className="grid gap-6 sm:grid-cols-2">
        {[...groups].map(([group, members]) => (
          <section key={group}>
            <h3 className="mb-1.5 font-semibold text-ink-3 text-xs">{group}</h3>
            <dl className="grid gap-0.5">
              {members.map((each) => (
                <div key={each.keys + each.label} className="flex items-center justify-between gap-4 py-0.5 text-sm">
                  <dt>{each.label}</dt>
                  <dd>
                    <Keys keys={each.keys} />
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        <section>
          <h3 className="mb-1.5 font-semibold text-ink-3 text-xs">Lists</h3>
          <dl className="grid gap-0.5 text-sm">
            <div className="flex justify-between gap-4 py-0.5">
              <dt>Next and previous row</dt>
              <dd>
                <Keys keys="j k" />
              </dd>
            </div>
            <div className="flex justify-between gap-4 py-0.5">
              <dt>Open the row</dt>
              <dd>
                <Keys keys="Enter" />
              </dd>
            </div>
          </dl>
        </section>
      </div>
    </Dialog>
  );
}

const MAC = navigator.platform.startsWith("Mac");

/** The keys of a shortcut as they stand on a keyboard. */
export function Keys({ keys }: { keys: string }) {
  return (
    <span className="flex gap-1">
      {keys.split(" ").map((key, index) => (
        <kbd
          key={index}
          className="min-w-5 rounded border border-line-strong bg-surface px-1 text-center font-mono text-2xs text-ink-2"
        >
          {key.replace("mod+", MAC ? "⌘" : "Ctrl ").replace(/(?<=Ctrl |⌘)./, (letter) => letter.toUpperCase())}
        </kbd>
      ))}
    </span>
  );
}
