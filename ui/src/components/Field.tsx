import {
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from "react";
import { cx } from "@/lib/cx";
import { Icon, type IconName } from "./Icon";

const CONTROL =
  "h-8 w-full min-w-0 rounded-md border border-line-strong bg-surface px-2.5 text-sm text-ink placeholder:text-ink-3 disabled:opacity-50 aria-invalid:border-bad-mark";

interface Labelled {
  /** What the field is; `hidden`: only screen readers hear it. */
  label: ReactNode;
  hidden?: boolean;
  hint?: ReactNode;
  /** What the server says about the value. */
  error?: ReactNode;
  className?: string;
}

function useField({ label, hidden, hint, error, className }: Labelled, control: (ids: Ids) => ReactNode) {
  const id = useId();
  const about = error || hint ? `${id}-about` : undefined;
  return (
    <div className={cx("grid min-w-0 gap-1", className)}>
      <label htmlFor={id} className={hidden ? "sr-only" : "font-medium text-ink-2 text-xs"}>
        {label}
      </label>
      {control({ id, "aria-describedby": about, "aria-invalid": error ? true : undefined })}
      {about && (
        <p id={about} className={cx("foreign text-xs", error ? "text-bad" : "text-ink-3")}>
          {error || hint}
        </p>
      )}
    </div>
  );
}

interface Ids {
  id: string;
  "aria-describedby"?: string;
  "aria-invalid"?: true;
}

type InputProps = Labelled &
  Omit<InputHTMLAttributes<HTMLInputElement>, "className"> & { icon?: IconName; ref?: Ref<HTMLInputElement> };

/** A field for one line of text. */
export function Input({ label, hidden, hint, error, className, icon, ...rest }: InputProps) {
  return useField({ label, hidden, hint, error, className }, (ids) => (
    <span className="relative block">
      {icon && (
        <span className="pointer-events-none absolute inset-y-0 left-2 grid place-items-center text-ink-3">
          <Icon name={icon} size={14} />
        </span>
      )}
      <input {...ids} {...rest} className={cx(CONTROL, icon && "pl-7")} />
    </span>
  ));
}

type SelectProps = Labelled &
  Omit<SelectHTMLAttributes<HTMLSelectElement>, "className"> & { ref?: Ref<HTMLSelectElement> };

/** A field for one of a few values; its children are `<option>`s. */
export function Select({ label, hidden, hint, error, className, children, ...rest }: SelectProps) {
  return useField({ label, hidden, hint, error, className }, (ids) => (
    <span className="relative block">
      <select {...ids} {...rest} className={cx(CONTROL, "appearance-none pr-7")}>
        {children}
      </select>
      <span className="pointer-events-none absolute inset-y-0 right-2 grid place-items-center text-ink-3">
        <Icon name="down" size={14} />
      </span>
    </span>
  ));
}

type TextAreaProps = Labelled &
  Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, "className"> & { mono?: boolean; ref?: Ref<HTMLTextAreaElement> };

/** A field for several lines of text. */
export function TextArea({ label, hidden, hint, error, className, mono = false, ...rest }: TextAreaProps) {
  return useField({ label, hidden, hint, error, className }, (ids) => (
    <textarea
      rows={3}
      spellCheck={false}
      {...ids}
      {...rest}
      className={cx(CONTROL, "h-auto min-h-8 py-1.5", mono && "font-mono text-xs")}
    />
  ));
}

type CheckboxProps = Omit<Labelled, "hidden"> & Omit<InputHTMLAttributes<HTMLInputElement>, "className" | "type">;

/** A field that is true or false; its label stands beside it. */
export function Checkbox({ label, hint, error, className, ...rest }: CheckboxProps) {
  const id = useId();
  const about = error || hint ? `${id}-about` : undefined;
  return (
    <div className={cx("grid min-w-0 gap-1", className)}>
      <span className="flex min-h-8 items-center gap-2">
        <input
          type="checkbox"
          id={id}
          aria-describedby={about}
          {...rest}
          className="size-4 shrink-0 rounded accent-(--accent)"
        />
        <label htmlFor={id} className="font-medium text-ink-2 text-xs">
          {label}
        </label>
      </span>
      {about && (
        <p id={about} className={cx("foreign text-xs", error ? "text-bad" : "text-ink-3")}>
          {error || hint}
        </p>
      )}
    </div>
  );
}
