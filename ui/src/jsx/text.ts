import { hasControls, visible } from "@/lib/ansi";

const TEXTS = ["title", "aria-label", "alt"] as const;

/** Returns children in which no text has a character that a page would interpret; the same ones if none had. */
function shownChildren(children: unknown): unknown {
  if (typeof children === "string") return hasControls(children) ? visible(children) : children;
  if (!Array.isArray(children)) return children;
  const shown = children.map(shownChildren);
  return shown.some((each, index) => each !== children[index]) ? shown : children;
}

/** Returns the properties of an element of the page with all of its text as it may be shown. */
export function shownProps(type: unknown, props: object): object {
  if (typeof type === "function") return props; // the elements that it returns come here as well
  const given = props as Record<string, unknown>;
  const changed: Record<string, unknown> = {};
  const children = shownChildren(given.children);
  if (children !== given.children) changed.children = children;
  for (const name of TEXTS) {
    const text = given[name];
    if (typeof text === "string" && hasControls(text)) changed[name] = visible(text);
  }
  return Object.keys(changed).length > 0 ? { ...given, ...changed } : props;
}
