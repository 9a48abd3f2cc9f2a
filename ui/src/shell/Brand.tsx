/** The name with its mark: a track that branches. */
export function Brand() {
  return (
    <span className="flex items-center gap-2 font-semibold text-base tracking-tight">
      <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
        <rect width="32" height="32" rx="8" className="fill-accent" />
        <g fill="none" stroke="#fff" strokeWidth="3" strokeLinecap="round">
          <path d="M7 21h18" />
          <path d="M7 21c7 0 8-10 16-10h2" />
        </g>
      </svg>
      Turnout
    </span>
  );
}
