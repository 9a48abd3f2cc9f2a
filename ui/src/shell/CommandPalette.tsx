import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from "react";
import { runsQuery, workflowsQuery } from "@/api/queries";
import { Icon } from "@/components";
import { cx } from "@/lib/cx";
import { shortId } from "@/lib/names";
import { useStore } from "@/lib/store";
import { type Command, matching, pageCommands } from "./commands";
import { ALL_PLACES } from "./navigation";

const RUN_ID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/i;
const MAX_SHOWN = 60;

interface PaletteProps {
  open: boolean;
  onClose: () => void;
  /** Commands of the shell: the theme, the sign-out. */
  commands: readonly Command[];
}

/** Finds pages, workflows, runs and actions by what is typed. */
export function CommandPalette({ open, onClose, commands }: PaletteProps) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open && !ref.current?.open) ref.current?.showModal();
    if (!open && ref.current?.open) ref.current.close();
  }, [open]);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it too
    <dialog
      ref={ref}
      aria-label="Command palette"
      onClose={onClose}
      onClick={(event) => event.target === ref.current && onClose()}
      className="mx-auto mt-[12vh] w-[calc(100vw-2rem)] max-w-xl animate-[rise_100ms] overflow-hidden rounded-xl border border-line-strong bg-raised p-0 shadow-pop backdrop:bg-black/40"
    >
      {open && <Search onClose={onClose} commands={commands} />}
    </dialog>
  );
}

function Search({ onClose, commands }: Omit<PaletteProps, "open">) {
  const [typed, setTyped] = useState("");
  const [chosen, setChosen] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const all = useCommandList(commands, typed.trim());
  const shown = useMemo(() => matching(all, typed).slice(0, MAX_SHOWN), [all, typed]);
  const active = Math.min(chosen, shown.length - 1);

  useEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: "nearest" });
  }, [active]);

  const choose = (command: Command | undefined) => {
    if (!command) return;
    onClose();
    command.run();
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setChosen((active + step + shown.length) % Math.max(1, shown.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      choose(shown[active]);
    }
  };

  return (
    <>
      <div className="flex items-center gap-2.5 border-line border-b px-3.5">
        <span className="text-ink-3">
          <Icon name="search" />
        </span>
        <input
          // biome-ignore lint/a11y/noAutofocus: the palette is opened to type into it
          autoFocus
          role="combobox"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={shown.length > 0 ? `${id}-${active}` : undefined}
          aria-label="Search pages, workflows, runs and actions"
          placeholder="Search pages, workflows, runs, actions…"
          value={typed}
          onChange={(event) => {
            setTyped(event.target.value);
            setChosen(0);
          }}
          onKeyDown={press}
          className="h-12 w-full bg-transparent text-base outline-none placeholder:text-ink-3"
        />
      </div>
      <div ref={list} id={id} role="listbox" aria-label="Commands" className="max-h-[50vh] overflow-auto p-1.5">
        {shown.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the focus and its keys
          <div
            key={command.id}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === active}
            onClick={() => choose(command)}
            onPointerMove={() => setChosen(index)}
            className={cx(
              "flex cursor-pointer items-center gap-2.5 rounded-md px-2.5 py-1.5 text-sm",
              index === active && "bg-accent-soft text-accent-text",
            )}
          >
            <Icon name={command.icon ?? "chevron"} size={15} />
            <span className="foreign min-w-0 flex-1 truncate">{command.label}</span>
            {command.hint && <span className="text-2xs text-ink-3">{command.hint}</span>}
          </div>
        ))}
      </div>
      {shown.length === 0 && <p className="px-4 py-6 text-center text-ink-2 text-sm">Nothing is called “{typed}”.</p>}
    </>
  );
}

function useCommandList(commands: readonly Command[], typed: string): Command[] {
  const navigate = useNavigate();
  const ofPage = useStore(pageCommands);
  const workflows = useInfiniteQuery(workflowsQuery({ limit: 200 }));
  const runs = useInfiniteQuery(runsQuery({ limit: 20 }));
  return useMemo(() => {
    const places = ALL_PLACES.map((place): Command => {
      const run = () => void navigate({ to: place.to });
      return { id: place.to, label: place.label, hint: "page", icon: place.icon, run };
    });
    const known = (workflows.data?.pages ?? []).flatMap((page) => page.workflows);
    const found = known.map((each): Command => {
      const run = () => void navigate({ to: "/workflows/$name", params: { name: each.full_name } });
      return { id: `workflow ${each.full_name}`, label: each.name, hint: "workflow", icon: "workflows", run };
    });
    const recent = (runs.data?.pages[0]?.runs ?? []).map((each): Command => {
      const run = () => void navigate({ to: "/runs/$runId", params: { runId: each.id } });
      return {
        id: `run ${each.id}`,
        label: `${each.name} ${shortId(each.id)}`,
        hint: `run, ${each.state}`,
        icon: "runs",
        run,
      };
    });
    const pasted: Command[] = RUN_ID.test(typed)
      ? [
          {
            id: "pasted",
            label: `Open run ${typed}`,
            icon: "runs",
            run: () => void navigate({ to: "/runs/$runId", params: { runId: typed.toLowerCase() } }),
          },
        ]
      : [];
    return [...pasted, ...ofPage, ...places, ...commands, ...found, ...recent];
  }, [commands, navigate, ofPage, runs.data, typed, workflows.data]);
}
