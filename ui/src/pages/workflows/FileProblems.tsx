import type { Schemas } from "@/api/client";
import { Icon } from "@/components";
import { counted } from "@/lib/numbers";

/** Files of the workflow folders that could not be read, with what is wrong in them. */
export function FileProblems({ files }: { files: readonly Schemas["FileProblem"][] }) {
  return (
    <details className="border-line border-b bg-bad-soft px-3.5 py-2 text-sm">
      <summary className="flex cursor-pointer items-center gap-2 font-medium">
        <span className="text-bad">
          <Icon name="alert" />
        </span>
        {counted(files.length, "file")} of the workflow folders cannot be used
      </summary>
      <ul className="mt-2 grid gap-2 pb-1">
        {files.map(({ file, findings }) => (
          <li key={file} className="grid gap-0.5">
            <span className="foreign font-mono text-xs">{file}</span>
            {findings.map((each, index) => (
              <span key={index} className="foreign text-ink-2 text-xs">
                line {each.line}: {each.message}
              </span>
            ))}
          </li>
        ))}
      </ul>
    </details>
  );
}
