import type { IconName } from "@/components/Icon";

export interface Place {
  to:
    | "/"
    | "/workflows"
    | "/runs"
    | "/dispatch"
    | "/workers"
    | "/orchestration"
    | "/schedules"
    | "/limits"
    | "/settings";
  label: string;
  icon: IconName;
  /** The letter after g that leads there. */
  letter: string;
}

/** The pages of the navigation, in groups. */
export const PLACES: readonly (readonly Place[])[] = [
  [
    { to: "/", label: "Home", icon: "home", letter: "h" },
    { to: "/runs", label: "Runs", icon: "runs", letter: "r" },
    { to: "/workflows", label: "Workflows", icon: "workflows", letter: "w" },
    { to: "/schedules", label: "Schedules", icon: "schedules", letter: "s" },
  ],
  [
    { to: "/dispatch", label: "Dispatch", icon: "dispatch", letter: "d" },
    { to: "/workers", label: "Workers", icon: "workers", letter: "k" },
    { to: "/limits", label: "Limits", icon: "limits", letter: "l" },
    { to: "/orchestration", label: "Orchestration", icon: "orchestration", letter: "o" },
  ],
  [{ to: "/settings", label: "Settings", icon: "settings", letter: "," }],
];

export const ALL_PLACES: readonly Place[] = PLACES.flat();
