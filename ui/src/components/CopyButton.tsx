import { useState } from "react";
import { Button } from "./Button";

/** Puts a text onto the clipboard, and says so. */
export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <Button look="quiet" small icon={copied ? "check" : "copy"} label={copied ? "Copied" : label} onClick={copy} />
  );
}
