/** Returns a value that the server wrote into the page; empty in the development server. */
function meta(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="turnout-${name}"]`)?.content ?? "";
}

/** The path below which the server is reached, without a slash at its end; empty at the top of its host. */
export const ROOT = meta("root");
/** The build that this page is from; a server that has another one asks for a reload. */
export const BUILD = meta("build");
/** What style sheets that are inserted at run time have to carry; the policy of the page allows no others. */
export const NONCE = meta("nonce");

/** Shows the title of a page in the tab. */
export function titled(title: string): string {
  return title ? `${title} · Turnout` : "Turnout";
}
