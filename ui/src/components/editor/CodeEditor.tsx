import { autocompletion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { python } from "@codemirror/lang-python";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { basicSetup } from "codemirror";
import { useEffect, useRef } from "react";
import type { Schemas } from "@/api/client";
import { NONCE } from "@/lib/page";
import { type Node, suggestions } from "./completion";

type Finding = Schemas["Finding"];

interface CodeEditorProps {
  label: string;
  /** JSON is a part of YAML. */
  language: "yaml" | "python";
  /** The text that it begins with; another one replaces what is shown. */
  text: string;
  /** Absent: it can only be read. */
  onChange?: (text: string) => void;
  onSave?: () => void;
  findings?: readonly Finding[];
  /** What completion is taken from. */
  schema?: Node;
}

/** A text with colours, findings at their lines and completion. */
export function CodeEditor(props: CodeEditorProps) {
  const { label, language, text, findings = [], onChange } = props;
  const holder = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  useEffect(() => {
    latest.current = props;
  });
  const editable = onChange !== undefined;

  useEffect(() => {
    if (holder.current === null) return;
    const made = new EditorView({
      parent: holder.current,
      state: EditorState.create({
        doc: latest.current.text,
        extensions: [
          EditorView.cspNonce.of(NONCE),
          keymap.of([{ key: "Mod-s", preventDefault: true, run: () => latest.current.onSave?.() !== null }]),
          basicSetup,
          language === "yaml" ? yaml() : python(),
          syntaxHighlighting(COLOURS),
          LOOK,
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          editable ? writing(latest) : EditorState.readOnly.of(true),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, [label, language, editable]);

  useEffect(() => {
    const editor = view.current;
    if (editor === null || editor.state.doc.toString() === text) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
  }, [text]);

  useEffect(() => {
    const editor = view.current;
    if (editor) editor.dispatch(setDiagnostics(editor.state, diagnostics(editor.state, findings)));
  }, [findings]);

  return <div ref={holder} className="min-w-0 overflow-hidden" />;
}

function writing(latest: { current: CodeEditorProps }): Extension {
  return [
    lintGutter(),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) latest.current.onChange?.(update.state.doc.toString());
    }),
    autocompletion({ override: [(context) => complete(context, latest.current.schema)] }),
  ];
}

function complete(context: CompletionContext, schema: Node | undefined): CompletionResult | null {
  const word = context.matchBefore(/[\w-]*/);
  if (schema === undefined || word === null || (word.from === word.to && !context.explicit)) return null;
  const options = suggestions(schema, context.state.sliceDoc(0, word.from)).map((each) => ({
    label: each.label,
    apply: each.kind === "key" ? `${each.label}: ` : each.label,
    detail: each.detail,
    info: each.info,
    type: each.kind === "key" ? "property" : "constant",
  }));
  return options.length === 0 ? null : { from: word.from, options, validFor: /^[\w-]*$/ };
}

const SEVERITIES = { error: "error", warning: "warning", note: "info" } as const;

/** Returns the findings as CodeMirror shows them; those of a text that the file inherits from stand at its first line. */
function diagnostics(state: EditorState, findings: readonly Finding[]): Diagnostic[] {
  return findings.map((finding) => {
    const line = state.doc.line(Math.min(finding.source === "base" ? 1 : Math.max(1, finding.line), state.doc.lines));
    const from = Math.min(line.from + Math.max(0, finding.column - 1), line.to);
    return {
      from,
      to: line.to,
      severity: SEVERITIES[finding.severity],
      message: finding.message,
      source: finding.code,
    };
  });
}

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--run)" },
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], color: "var(--hold)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--ok)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--wait)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--ink-3)", fontStyle: "italic" },
  { tag: [tags.function(tags.variableName), tags.definition(tags.variableName)], color: "var(--run)" },
  { tag: [tags.meta, tags.annotation], color: "var(--wait)" },
]);

const LOOK = EditorView.theme({
  "&": { backgroundColor: "var(--surface)", color: "var(--ink)", fontSize: "12.5px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--font-mono, ui-monospace, monospace)", lineHeight: "1.55", maxHeight: "65dvh" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--ink-3)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--accent) 6%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--hover)", color: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 25%, transparent)",
  },
  ".cm-tooltip, .cm-panels": {
    backgroundColor: "var(--raised)",
    color: "var(--ink)",
    border: "1px solid var(--line-strong)",
    borderRadius: "6px",
  },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--accent-ink)" },
  ".cm-completionInfo": { maxWidth: "24rem", padding: "6px 8px" },
  ".cm-diagnostic": { padding: "4px 8px", maxWidth: "36rem" },
  // The marks of CodeMirror are images in data: addresses, which the policy of the page does not allow.
  ".cm-lint-marker": { content: "normal", width: "8px", height: "8px", margin: "6px 3px", borderRadius: "50%" },
  ".cm-lint-marker-error": { content: "normal", backgroundColor: "var(--bad-mark)" },
  ".cm-lint-marker-warning": { content: "normal", backgroundColor: "var(--wait-mark)" },
  ".cm-lint-marker-info": { content: "normal", backgroundColor: "var(--run-mark)" },
  ".cm-lintRange": { backgroundImage: "none", paddingBottom: 0 },
  ".cm-lintRange-error": { backgroundImage: "none", borderBottom: "2px dotted var(--bad-mark)" },
  ".cm-lintRange-warning": { backgroundImage: "none", borderBottom: "2px dotted var(--wait-mark)" },
  ".cm-lintRange-info": { backgroundImage: "none", borderBottom: "2px dotted var(--run-mark)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--idle-soft)", border: "none", color: "var(--ink-2)" },
});
