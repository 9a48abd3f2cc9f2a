import { Skeleton, SkeletonLines } from "@/components";

/** Stands for a page whose module is being loaded. */
export function PagePending() {
  return (
    <div className="p-4 md:px-6">
      <Skeleton className="h-6 w-48" />
      <SkeletonLines lines={6} className="px-0 pt-6" />
    </div>
  );
}
