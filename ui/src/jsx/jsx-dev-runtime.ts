/* As jsx-runtime.ts, for `make ui-dev`. */
import { jsxDEV as element, Fragment } from "react/jsx-dev-runtime";
import { shownProps } from "./text";

export type { JSX } from "react/jsx-dev-runtime";
export { Fragment };

export const jsxDEV: typeof element = (type, props, ...rest) =>
  element(type, shownProps(type, props as object), ...rest);
