import type { SVGProps } from "react";

const PATHS = {
  home: "M3 10.5 12 3l9 7.5M5.5 9v11h13V9",
  workflows: "M4 5h5v5H4zM15 14h5v5h-5zM9 7.5h4.5v9H15",
  runs: "M7 5.5v13l11-6.5z",
  dispatch: "M3 17h18M3 17c8 0 8-10 15-10h3M18 4l3 3-3 3",
  workers: "M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01",
  orchestration: "M4 19V9M10 19V5M16 19v-7M22 19H2",
  schedules: "M12 7v5l3.5 2M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0z",
  limits: "M4 15a8 8 0 1 1 16 0M12 15l4-5M4 19h16",
  settings: "M4 7h10M18 7h2M4 17h2M10 17h10M14 4.5v5M6 14.5v5",
  search: "M20 20l-4.2-4.2M18 11a7 7 0 1 1-14 0 7 7 0 0 1 14 0z",
  close: "M6 6l12 12M18 6 6 18",
  check: "M5 12.5l4.5 4.5L19 7.5",
  copy: "M9 9h10v10H9zM5 15V5h10",
  chevron: "M9 6l6 6-6 6",
  left: "M15 6l-6 6 6 6",
  down: "M6 9l6 6 6-6",
  menu: "M4 7h16M4 12h16M4 17h16",
  sun: "M12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6 7 7M17 17l1.4 1.4M18.4 5.6 17 7M7 17l-1.4 1.4M16 12a4 4 0 1 1-8 0 4 4 0 0 1 8 0z",
  moon: "M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5z",
  system: "M4 5h16v11H4zM9 20h6M12 16v4",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  alert: "M12 4 2.8 20h18.4zM12 10v4.5M12 17.2h.01",
  info: "M12 11v5M12 8h.01M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0z",
  user: "M16 8a4 4 0 1 1-8 0 4 4 0 0 1 8 0zM4.5 20c1-4 4-5.5 7.5-5.5s6.5 1.5 7.5 5.5",
  signout: "M14 4h5v16h-5M10 8l-4 4 4 4M6 12h9",
  keyboard: "M3 6h18v12H3zM7 10h.01M11 10h.01M15 10h.01M8 14h8",
  external: "M14 4h6v6M20 4l-9 9M18 14v6H4V6h6",
  refresh: "M20 11a8 8 0 0 0-14.5-4L3 9.5M3 4.5v5h5M4 13a8 8 0 0 0 14.5 4l2.5-2.5M21 19.5v-5h-5",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  fit: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",
  play: "M7 5v14l11-7z",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  filter: "M4 6h16M7 12h10M10 18h4",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  pause: "M8 5v14M16 5v14",
  stop: "M6 6h12v12H6z",
  rerun: "M4 12a8 8 0 1 0 2.5-5.8L4 8.5M4 4v4.5h4.5",
  key: "M14.5 13.5a5 5 0 1 0-4-4L3 17v4h4l1.5-1.5V17H11l3.5-3.5M16.5 7.5h.01",
  list: "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
} as const;

export type IconName = keyof typeof PATHS;

/** A drawing beside a word, or alone in a button that has a label. */
export function Icon({ name, size = 16, ...rest }: { name: IconName; size?: number } & SVGProps<SVGSVGElement>) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === "more" ? 3 : 1.75}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      className="shrink-0"
      {...rest}
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
