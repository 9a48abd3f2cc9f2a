import { useMemo } from "react";
import { visible } from "@/lib/ansi";
import { cx } from "@/lib/cx";
import { excerpt, lineDiff } from "@/lib/lineDiff";
import { counted } from "@/lib/numbers";

const LOOKS = { same: "", added: "bg-ok-soft", removed: "bg-bad-soft" };
const SIGNS = { same: " ", added: "+", removed: "−" };
const WORDS = { same: "", added: "added: ", removed: "removed: " };

/** The difference of two texts, line by line; what both have is shown around changes only. */
export function TextDiff({ before, after, label }: { before: string; after: string; label: string }) {
  const lines = useMemo(() => excerpt(lineDiff(before, after)), [before, after]);
  if (lines.length === 0) return <p className="p-3.5 text-ink-2 text-sm">The texts are the same.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
    <section aria-label={label} tabIndex={0} className="max-h-[60dvh] overflow-auto bg-sunken font-mono text-xs">
      <div className="w-max min-w-full py-1">
        {lines.map(({ line, skipped }, index) => (
          <div key={index}>
            {skipped > 0 && <div className="px-3 py-0.5 text-ink-3">⋯ {counted(skipped, "line")} the same</div>}
            <div className={cx("flex leading-5", LOOKS[line.kind])}>
              <span aria-hidden="true" className="w-10 shrink-0 select-none pr-2 text-right text-ink-3">
                {line.before}
              </span>
              <span aria-hidden="true" className="w-10 shrink-0 select-none pr-2 text-right text-ink-3">
                {line.after}
              </span>
              <span aria-hidden="true" className="w-4 shrink-0 select-none">
                {SIGNS[line.kind]}
              </span>
              <span className="sr-only">{WORDS[line.kind]}</span>
              <span className="whitespace-pre pr-3 [unicode-bidi:isolate]">{visible(line.text)}</span>
            </div>
          </div>
        ))}
      </div>
    </section>
  );
}
