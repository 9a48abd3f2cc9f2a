/** Returns the last segment of a full name: "public::embedded::fulfil" is "fulfil". */
export function lastSegment(name: string): string {
  return name.slice(name.lastIndexOf("::") + 1).replace(/^:/, "");
}

/** Returns the id of a run as lists show it: its last characters, which tell runs of one moment apart. */
export function shortId(id: string): string {
  return id.length > 12 ? id.slice(-8) : id;
}
