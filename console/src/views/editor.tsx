import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, linter, lintGutter } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { tags } from "@lezer/highlight";
import { useQuery } from "@tanstack/react-query";
import { basicSetup, EditorView } from "codemirror";
import { useEffect, useRef, useState } from "react";
import { answer, api, Refused, type Schemas } from "../api";
import { Failure, Loaded } from "../parts";
import { useTexts } from "../texts";
import { examples, placed } from "./examples";
import { keys } from "./keys";
import { Preview } from "./preview";

// colours can be read on a dark ground as well, which CodeMirror's own cannot.
const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: tags.comment, color: "var(--soft)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.meta, tags.keyword, tags.labelName, tags.typeName, tags.attributeValue], color: "var(--warn)" },
]);

// check asks the gateway what is wrong with a text, and finds the lines that it names.
async function check(view: EditorView): Promise<Diagnostic[]> {
  const { problems } = await answer(api.POST("/admin/configuration/check", { body: { text: view.state.doc.toString(), base: "" } }));
  return (problems ?? []).map((message) => {
    const place = /:(\d+):(\d+): /.exec(message);
    const line = view.state.doc.line(Math.min(Number(place?.[1] ?? 1), view.state.doc.lines));
    return { from: Math.min(line.from + Number(place?.[2] ?? 1) - 1, line.to), to: line.to, severity: "error", message };
  });
}

// Editor changes the configuration's file, with its mistakes marked while somebody types.
export default function Editor({ example }: { example?: string }) {
  const t = useTexts();
  const file = useQuery({ queryKey: ["configuration"], queryFn: () => answer(api.GET("/admin/configuration")), refetchOnWindowFocus: false });
  const [done, setDone] = useState("");
  return (
    <Loaded query={file}>
      {(text) => (
        <>
          <Text key={text.base} text={text} again={() => file.refetch()} done={setDone} label={t.file} example={example} />
          <p role="status" className="good">{done}</p>
        </>
      )}
    </Loaded>
  );
}

function Text({ text, label, again, done, example }: { text: Schemas["ConsoleText"]; label: string; example?: string; again: () => void; done: (says: string) => void }) {
  const t = useTexts();
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const [failed, setFailed] = useState<Error>();
  useEffect(() => {
    // In a shadow root its styles need no permission of the page's policy.
    const root = place.current!.shadowRoot ?? place.current!.attachShadow({ mode: "open" });
    root.replaceChildren();
    const dark = getComputedStyle(place.current!).colorScheme === "dark" || (getComputedStyle(document.documentElement).colorScheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
    view.current = new EditorView({
      root, parent: root,
      state: EditorState.create({
        doc: text.text,
        extensions: [
          basicSetup, keys(() => fetch("/console/schema.json").then((r) => r.json())), yaml(), syntaxHighlighting(colours), linter(check, { delay: 600 }), lintGutter(), EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label }),
          EditorView.theme({ "&": { fontSize: "14px", maxHeight: "65vh" }, ".cm-scroller": { overflow: "auto" }, ".cm-hint": { maxWidth: "32em", padding: "4px 8px", whiteSpace: "pre-line" }, ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--ground)" }, ".cm-gutters": { backgroundColor: "var(--card)", color: "var(--soft)" } }, { dark }),
        ],
      }),
    });
    return () => view.current?.destroy();
  }, [text, label]);
  const change = async (act: () => Promise<unknown>) => {
    setFailed(undefined);
    done("");
    try {
      await act();
      done(t.saved_);
      again();
    } catch (e) {
      setFailed(e as Error);
    }
  };
  const [chosen, setChosen] = useState(example && example in examples ? example : "model");
  const insert = () => {
    const at = view.current!;
    const change = placed(at.state.doc.toString(), chosen);
    at.dispatch({ changes: change, selection: { anchor: change.from, head: change.from + change.insert.length }, scrollIntoView: true });
    at.focus();
  };
  const edit = () => ({ text: view.current?.state.doc.toString() ?? "", base: text.base });
  return (
    <>
      <p className="mono soft">{text.file}</p>
      <p className="row">
        <label htmlFor="example">{t.insertExample}</label>
        <span><select id="example" value={chosen} onChange={(e) => setChosen(e.target.value)}>{Object.keys(examples).map((name) => <option key={name} value={name}>{t.examples_[name]}</option>)}</select></span>
        <button className={example ? "first" : undefined} onClick={insert}>{t.insert}</button>
      </p>
      <div ref={place} className="editor" />
      <p className="row">
        <button className="first" onClick={() => change(() => answer(api.PUT("/admin/configuration", { body: edit() })))}>{t.save}</button>
        <button disabled={!text.undo} onClick={() => change(() => answer(api.POST("/admin/configuration/undo", { body: edit() })))}>{t.undo}</button>
        <span className="soft">{t.saving}</span>
      </p>
      {failed && <Failure error={failed} again={failed instanceof Refused && failed.status === 409 ? again : undefined} />}
      <Preview text={() => edit().text} />
    </>
  );
}
