import { useStore } from "@/lib/store";
import { Button } from "./Button";
import { Icon } from "./Icon";
import { dismiss, toasts } from "./toasts";

/** Shows the notes of toast() and toastError(); screen readers read them out. */
export function Toaster() {
  const notes = useStore(toasts);
  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed right-4 bottom-4 z-40 grid w-[min(24rem,calc(100vw-2rem))] gap-2"
    >
      {notes.map((note) => (
        <div
          key={note.id}
          className="pointer-events-auto flex animate-[rise_120ms] items-start gap-2.5 rounded-lg border border-line-strong bg-raised p-3 shadow-pop"
        >
          <span className={note.tone === "ok" ? "text-ok" : "text-bad"}>
            <Icon name={note.tone === "ok" ? "check" : "alert"} size={18} />
          </span>
          <div className="min-w-0 flex-1">
            <p className="font-medium text-sm">{note.title}</p>
            {note.detail && <p className="foreign text-ink-2 text-xs">{note.detail}</p>}
          </div>
          <Button look="quiet" small icon="close" label="Dismiss" onClick={() => dismiss(note.id)} />
        </div>
      ))}
    </div>
  );
}
