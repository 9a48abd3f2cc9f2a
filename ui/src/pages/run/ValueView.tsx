import { useQuery } from "@tanstack/react-query";
import { downloadOf, valueQuery } from "@/api/values";
import { CopyButton, ErrorBox, Icon, SkeletonLines } from "@/components";
import { visible } from "@/lib/ansi";
import { bytes } from "@/lib/bytes";
import { indented } from "@/lib/json";

/** Text that came from outside, with all that could be interpreted made visible. */
export function ForeignText({ text, label }: { text: string; label: string }) {
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
      tabIndex={0}
      className="max-h-[28rem] overflow-auto rounded-md border border-line bg-sunken"
    >
      <pre className="foreign whitespace-pre-wrap p-3 font-mono text-xs">{visible(text)}</pre>
    </section>
  );
}

/** A stored value: whole if it is small, else its beginning and a download. */
export function ValueView({ path, label }: { path: string; label: string }) {
  const value = useQuery(valueQuery(path));
  if (value.error) return <ErrorBox error={value.error} onRetry={() => void value.refetch()} />;
  if (!value.data) return <SkeletonLines lines={3} />;
  const { text, bytes: size, complete } = value.data;
  return (
    <div className="grid gap-2">
      <div className="flex items-center gap-2 text-ink-3 text-xs">
        <span>{bytes(size)}</span>
        {!complete && <span>The first {bytes(text.length)} are shown.</span>}
        <span className="ml-auto flex items-center gap-1">
          {complete && <CopyButton text={text} label={`Copy ${label.toLowerCase()}`} />}
          <a
            href={downloadOf(path)}
            download
            className="inline-flex h-7 items-center gap-1.5 rounded-md px-2 font-medium text-ink-2 hover:bg-hover hover:text-ink"
          >
            <Icon name="download" size={14} /> Download
          </a>
        </span>
      </div>
      <ForeignText text={complete ? indented(text) : text} label={label} />
    </div>
  );
}
