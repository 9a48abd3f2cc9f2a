import { useState } from "react";
import { Button, Dialog, Input, Menu, type MenuItem } from "@/components";
import type { RunSearch } from "@/lib/search";
import { isNarrow, type SavedFilter, sameFilter, storedFilters, storeFilters, withFilter } from "./filters";

const GIVEN: SavedFilter[] = [
  { name: "Failed", search: { state: ["failed"] } },
  { name: "Not ended", search: { state: ["running", "pending", "paused", "cancelling"] } },
];

/** Filters under a name: a few that everybody has, and those that the viewer has saved. */
export function SavedFilters({ search, onChoose }: { search: RunSearch; onChoose: (search: RunSearch) => void }) {
  const [saved, setSaved] = useState(storedFilters);
  const [naming, setNaming] = useState(false);
  const [name, setName] = useState("");
  const keep = (filters: SavedFilter[]) => {
    setSaved(filters);
    storeFilters(filters);
  };
  const all = [...GIVEN, ...saved];
  const current = all.find((each) => sameFilter(each.search, search));
  const own = saved.find((each) => each === current);
  const items: MenuItem[] = all.map((each) => ({
    label: each.name,
    checked: each === current,
    onSelect: () => onChoose(each.search),
  }));
  if (!current && isNarrow(search))
    items.push({ label: "Save this filter…", icon: "plus", onSelect: () => setNaming(true) });
  if (own) {
    const without = saved.filter((each) => each !== own);
    items.push({ label: `Forget ${own.name}`, icon: "trash", danger: true, onSelect: () => keep(without) });
  }
  const save = () => {
    if (name.trim() === "") return;
    keep(withFilter(saved, { name: name.trim(), search }));
    setNaming(false);
    setName("");
  };
  return (
    <>
      <Menu align="start" icon="filter" items={items}>
        {current?.name ?? "Filters"}
      </Menu>
      <Dialog
        open={naming}
        onClose={() => setNaming(false)}
        title="Save this filter"
        actions={
          <Button look="primary" disabled={name.trim() === ""} onClick={save}>
            Save
          </Button>
        }
      >
        <Input
          label="Name"
          hint="It is kept in this browser; the address of the page has the filter too, for others."
          value={name}
          maxLength={60}
          onChange={(event) => setName(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault(); // else the button that has the focus afterwards is pressed by the same key
            save();
          }}
        />
      </Dialog>
    </>
  );
}
