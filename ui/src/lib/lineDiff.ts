/** A line of a comparison of two texts. */
export interface DiffLine {
  kind: "same" | "added" | "removed";
  text: string;
  /** Its number in the text before, and in the text after; null where that one does not have it. */
  before: number | null;
  after: number | null;
}

/** Lines of a middle part that are compared with each other; longer parts are shown as replaced. */
const MAX_CELLS = 4_000_000;

/** Returns the lines of two texts as one list: those of both, those that are new, those that are gone. */
export function lineDiff(before: string, after: string): DiffLine[] {
  const old = before.split("\n");
  const now = after.split("\n");
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head++;
  let tail = 0;
  while (
    tail < old.length - head &&
    tail < now.length - head &&
    old[old.length - 1 - tail] === now[now.length - 1 - tail]
  )
    tail++;
  const lines: DiffLine[] = [];
  const same = (at: number, to: number) =>
    lines.push({ kind: "same", text: old[at] ?? "", before: at + 1, after: to + 1 });
  for (let at = 0; at < head; at++) same(at, at);
  const ends = [old.length - tail, now.length - tail] as const;
  for (const [left, right] of steps(old.slice(head, ends[0]), now.slice(head, ends[1]))) {
    if (left !== null && right !== null) same(head + left, head + right);
    else if (left !== null)
      lines.push({ kind: "removed", text: old[head + left] ?? "", before: head + left + 1, after: null });
    else if (right !== null)
      lines.push({ kind: "added", text: now[head + right] ?? "", before: null, after: head + right + 1 });
  }
  for (let at = 0; at < tail; at++) same(ends[0] + at, ends[1] + at);
  return lines;
}

/** Returns pairs of positions along a longest common subsequence; null where one of the two has no such line. */
function steps(old: readonly string[], now: readonly string[]): [number | null, number | null][] {
  const found: [number | null, number | null][] = [];
  let [left, right] = [0, 0];
  if (old.length * now.length <= MAX_CELLS) {
    const width = now.length + 1;
    const lengths = new Uint32Array((old.length + 1) * width);
    const length = (row: number, column: number) => lengths[row * width + column] ?? 0;
    for (let row = old.length - 1; row >= 0; row--) {
      for (let column = now.length - 1; column >= 0; column--) {
        lengths[row * width + column] =
          old[row] === now[column]
            ? length(row + 1, column + 1) + 1
            : Math.max(length(row + 1, column), length(row, column + 1));
      }
    }
    while (left < old.length && right < now.length) {
      if (old[left] === now[right]) found.push([left++, right++]);
      else if (length(left + 1, right) >= length(left, right + 1)) found.push([left++, null]);
      else found.push([null, right++]);
    }
  }
  while (left < old.length) found.push([left++, null]);
  while (right < now.length) found.push([null, right++]);
  return found;
}

/** Returns the lines around changes only; `skipped` lines were left out in front of a line. */
export function excerpt(lines: readonly DiffLine[], around = 3): { line: DiffLine; skipped: number }[] {
  const near = lines.map(() => false);
  for (const [at, line] of lines.entries()) {
    if (line.kind === "same") continue;
    for (let each = Math.max(0, at - around); each <= Math.min(lines.length - 1, at + around); each++)
      near[each] = true;
  }
  const shown: { line: DiffLine; skipped: number }[] = [];
  let skipped = 0;
  for (const [at, line] of lines.entries()) {
    if (!near[at]) skipped++;
    else {
      shown.push({ line, skipped });
      skipped = 0;
    }
  }
  return shown;
}
