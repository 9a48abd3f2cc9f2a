import { useInfiniteQuery } from "@tanstack/react-query";
import { workflowsQuery } from "@/api/queries";
import { Button, Input, Select } from "@/components";
import { useTyped } from "@/lib/debounce";
import type { RunSearch } from "@/lib/search";
import { localInput, momentOf, tagsOf } from "./filters";

interface TimeFilterProps {
  from: number | undefined;
  until: number | undefined;
  onChange: (change: Partial<RunSearch>) => void;
}

/** The time in which runs were created, in the zone of the viewer. */
export function TimeFilter({ from, until, onChange }: TimeFilterProps) {
  const wrong = from !== undefined && until !== undefined && until <= from;
  return (
    <>
      <Moment label="Created from" value={from} onChange={(moment) => onChange({ from: moment })} />
      <Moment
        label="Created before"
        value={until}
        error={wrong ? "This is not after the first time: no run fits." : undefined}
        onChange={(moment) => onChange({ until: moment })}
      />
    </>
  );
}

interface MomentProps {
  label: string;
  value: number | undefined;
  error?: string;
  onChange: (moment: number | undefined) => void;
}

function Moment({ label, value, error, onChange }: MomentProps) {
  const [typed, setTyped] = useTyped(value === undefined ? undefined : localInput(value), (text) => {
    const moment = text === undefined ? undefined : momentOf(text);
    // A year that is being typed is no moment yet.
    if (moment !== null) onChange(moment);
  });
  return (
    <Input
      label={label}
      type="datetime-local"
      className="md:w-60"
      error={error}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
    />
  );
}

/** Tags of the workflows whose runs are listed: all of those that are chosen. */
export function TagFilter({ chosen, onChange }: { chosen: string[]; onChange: (tags: string[] | undefined) => void }) {
  const workflows = useInfiniteQuery(workflowsQuery({ limit: 200 })).data?.pages.flatMap((page) => page.workflows);
  const others = tagsOf(workflows ?? []).filter((tag) => !chosen.includes(tag));
  const put = (tags: string[]) => onChange(tags.length > 0 ? tags : undefined);
  return (
    <>
      <Select
        label="Tag"
        className="md:w-40"
        value=""
        disabled={others.length === 0}
        onChange={(event) => event.target.value && put([...chosen, event.target.value])}
      >
        <option value="">
          {others.length > 0 ? (chosen.length > 0 ? "Another tag" : "Any tag") : "No other tags"}
        </option>
        {others.map((tag) => (
          <option key={tag}>{tag}</option>
        ))}
      </Select>
      {chosen.length > 0 && (
        <ul aria-label="Chosen tags" className="flex flex-wrap gap-1 self-end">
          {chosen.map((tag) => (
            <li key={tag}>
              <Button
                icon="close"
                label={`Without the tag ${tag}`}
                onClick={() => put(chosen.filter((each) => each !== tag))}
              >
                <span className="foreign">{tag}</span>
              </Button>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
