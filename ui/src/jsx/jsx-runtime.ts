/*
 * Makes the elements of all pages. Names, labels, errors, logs and outputs come from outside: whatever a page shows of
 * them, characters that change the direction of writing, and those that a terminal would interpret, are seen as text.
 */
import { jsx as element, jsxs as elements, Fragment } from "react/jsx-runtime";
import { shownProps } from "./text";

export type { JSX } from "react/jsx-runtime";
export { Fragment };

export const jsx: typeof element = (type, props, key) => element(type, shownProps(type, props as object), key);
export const jsxs: typeof elements = (type, props, key) => elements(type, shownProps(type, props as object), key);
