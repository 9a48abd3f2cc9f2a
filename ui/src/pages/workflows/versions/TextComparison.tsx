import { useQuery } from "@tanstack/react-query";
import { workflowVersionQuery } from "@/api/queries";
import { ErrorBox, SkeletonLines, TextDiff } from "@/components";

interface TextComparisonProps {
  name: string;
  version: number;
  /** The version before it; without one, all of its text is new. */
  previous?: number;
}

/** What a version of a stored text changed. */
export function TextComparison({ name, version, previous }: TextComparisonProps) {
  const after = useQuery(workflowVersionQuery(name, version));
  const before = useQuery({ ...workflowVersionQuery(name, previous ?? version), enabled: previous !== undefined });
  const error = after.error ?? before.error;
  if (error) return <ErrorBox error={error} />;
  if (!after.data || (previous !== undefined && !before.data)) return <SkeletonLines lines={4} />;
  const old = previous === undefined ? "" : (before.data?.text ?? "");
  return (
    <div className="border-line border-t">
      <TextDiff label={`What version ${version} changed`} before={old} after={after.data.text} />
    </div>
  );
}
