import { Link, type LinkProps } from "@tanstack/react-router";
import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";
import { cx } from "@/lib/cx";
import { Icon, type IconName } from "./Icon";

type Look = "plain" | "primary" | "danger" | "quiet";

const LOOKS: Record<Look, string> = {
  plain: "border-line-strong bg-surface text-ink shadow-card hover:bg-hover",
  primary: "border-transparent bg-accent text-accent-ink shadow-card hover:brightness-110",
  danger: "border-line-strong bg-surface text-bad shadow-card hover:bg-bad-soft",
  quiet: "border-transparent text-ink-2 hover:bg-hover hover:text-ink",
};

const BASE =
  "inline-flex items-center justify-center gap-1.5 whitespace-nowrap rounded-md border font-medium transition-colors disabled:cursor-not-allowed disabled:opacity-50";

function classes(look: Look, small: boolean, only: boolean, more?: string): string {
  return cx(BASE, LOOKS[look], small ? "h-7 text-xs" : "h-8 text-sm", only ? (small ? "w-7" : "w-8") : "px-2.5", more);
}

interface Shared {
  look?: Look;
  small?: boolean;
  icon?: IconName;
  children?: ReactNode;
  className?: string;
}

export interface ButtonProps extends Shared, Omit<ButtonHTMLAttributes<HTMLButtonElement>, "className" | "children"> {
  /** While what it started goes on: it cannot be pressed again. */
  busy?: boolean;
  /** What it does, for a button that shows only an icon. */
  label?: string;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({
  look = "plain",
  small = false,
  icon,
  busy,
  label,
  children,
  className,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={children ? undefined : label}
      aria-busy={busy || undefined}
      {...rest}
      disabled={rest.disabled || busy}
      className={classes(look, small, !children, className)}
    >
      {busy ? <Spinner /> : icon && <Icon name={icon} size={small ? 14 : 16} />}
      {children}
    </button>
  );
}

/** A link that looks like a button. */
export function ButtonLink({ look = "plain", small = false, icon, children, className, ...rest }: Shared & LinkProps) {
  return (
    <Link {...rest} className={classes(look, small, !children, className)}>
      {icon && <Icon name={icon} size={small ? 14 : 16} />}
      {children}
    </Link>
  );
}

function Spinner() {
  return (
    <span
      aria-hidden="true"
      className="size-3.5 animate-spin rounded-full border-2 border-current border-t-transparent opacity-70"
    />
  );
}
