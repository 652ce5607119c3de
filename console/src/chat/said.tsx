import { lazy, Suspense, useEffect, useState } from "react";
import type { Schemas } from "../api";
import { useTexts } from "../texts";
import { Text } from "../views/markdown";
import { straight } from "../views/straight";
import type { Call, Item, Other, Said as Answer, Talk } from "./talk";

const Why = lazy(() => import("../views/why").then((m) => ({ default: m.Why })));

// Said shows one message: of the agent with its calls, what waits for the person, and why it got its tools.
export function Said({ item, talk }: { item: Item; talk: Talk }) {
  const t = useTexts();
  const c = t.chat_;
  if (item.from === "you") {
    return (
      <article className="you">
        <h2 className="sr">{c.you}</h2>
        {item.text}
        {item.files?.map((f, i) => (f.url ? <img key={i} className="picture" src={f.url} alt={f.name} /> : <p key={i} className="soft">{straight(f.name)}</p>))}
      </article>
    );
  }
  const empty = !item.works && !item.text && !item.failed && !item.awaits?.length && !item.calls?.length && !item.file;
  return (
    <article className="agent">
      <h2 className="sr">{t.agent}</h2>
      {item.calls?.map((call) => <CallLine key={call.id} call={call} works={!!item.works} />)}
      <Made files={(item.calls ?? []).flatMap((call) => call.result?.view?.files ?? [])} />
      {item.text && <Text text={item.text} />}
      {item.works && !item.text && <p className="soft works">{c.works}</p>}
      {empty && <p className="soft">{c.empty}</p>}
      {item.failed && <p role="alert" className="bad">{item.failed}</p>}
      {item.note === "stopped" && <p className="soft">{c.stopped}</p>}
      {item.file && <Given item={item} talk={talk} />}
      {item.awaits?.map((a) => <Waiting key={a.id ?? a.call} about={a} decide={(said) => talk.answer?.(item, a, said)} />)}
      {item.buttons && <Choices buttons={item.buttons} say={(text) => talk.say(text, [], item.agent)} />}
      {talk.why && !!item.number && !item.works && (item.text || item.calls) && <WhyLine why={() => talk.why!(item)} />}
    </article>
  );
}

function Choices({ buttons, say }: { buttons: { label: string; text: string }[]; say: (text: string) => void }) {
  const [said, setSaid] = useState(false);
  return <p className="row">{buttons.map((b) => <button key={b.text} disabled={said} onClick={() => { setSaid(true); say(b.text); }}>{b.label}</button>)}</p>;
}

const asText = (value: unknown) => straight(typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value, null, 2));

function CallLine({ call, works }: { call: Call; works: boolean }) {
  const t = useTexts();
  const result = call.result;
  return (
    <details className="call">
      <summary>
        <b className="mono">{call.name}</b>{" "}
        {result ? <span className={"badge " + (result.failed ? "bad" : "good")}>{result.failed ? t.error : t.done}</span> : <span className="soft">{call.progress ?? (works ? "…" : "")}</span>}
      </summary>
      <h3>{t.arguments}</h3>
      <pre tabIndex={0}>{asText(call.arguments)}</pre>
      {result && <h3>{t.chat_.result}</h3>}
      {result && <pre tabIndex={0} className={result.failed ? "bad" : undefined}>{asText(result.text)}</pre>}
      {result?.view?.text && <Text text={result.view.text} />}
    </details>
  );
}

// drawn are the pictures that a page shows; every other file is only downloaded.
const drawn = /^image\/(png|jpeg|gif|webp)$/;

// save lets the person keep a file.
function save(name: string, type: string | undefined, data: BlobPart) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([data], { type: drawn.test(type ?? "") ? type : "application/octet-stream" }));
  link.download = straight(name);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Given is a file that the agent sends. Pictures are shown; others are loaded by who wants them.
function Given({ item, talk }: { item: Item; talk: Talk }) {
  const t = useTexts();
  const file = item.file!;
  const [url, setURL] = useState("");
  const [gone, setGone] = useState(false);
  const picture = drawn.test(file.media_type ?? "");
  useEffect(() => {
    if (!picture) return;
    let left = false;
    const read = new FileReader(); // the page's policy lets data: in, which needs no revoking
    read.onload = () => left || setURL(read.result as string);
    talk.load!(item).then((b) => read.readAsDataURL(b), () => left || setGone(true));
    return () => { left = true; };
  }, [item.id, picture, talk]);
  const keep = () => talk.load!(item).then((b) => save(file.name, file.media_type, b), () => setGone(true));
  return (
    <figure>
      {url && <img className="picture" alt={straight(file.name)} src={url} />}
      {gone ? <span className="soft">{straight(file.name)} · {t.chat_.gone}</span> : <button onClick={() => void keep()}>↓ {straight(file.name)}</button>}
    </figure>
  );
}

// Made shows the files that calls gave.
function Made({ files }: { files: Schemas["ChatFile"][] }) {
  return (
    <>
      {files.map((f, i) => (
        <figure key={i}>
          {f.data && drawn.test(f.media_type ?? "") && <img className="picture" alt={f.name} src={`data:${f.media_type};base64,${f.data}`} />}
          {f.data ? <button onClick={() => save(f.name, f.media_type, Uint8Array.from(atob(f.data!), (c) => c.charCodeAt(0)))}>↓ {straight(f.name)}</button> : <span className="soft">{straight(f.name)}</span>}
        </figure>
      ))}
    </>
  );
}

// Waiting is a call that waits for the person's yes, or a question of a tool.
function Waiting({ about: a, decide }: { about: Schemas["SessionAwait"]; decide: (said: Answer) => void }) {
  const t = useTexts();
  const c = t.chat_;
  const [text, setText] = useState("");
  const say = (answer: string) => decide({ approved: true, text: answer });
  return (
    <section className="card waits">
      <p>{a.question || (a.theirs ? c.theirs : c.waits)} {!a.question && <b className="mono">{a.tool}</b>} {a.risk && <span className="badge warn">{t.words[a.risk] ?? a.risk}</span>}</p>
      {a.arguments && <pre tabIndex={0}>{a.arguments}</pre>}
      {a.question && !!a.choices?.length && <p className="row">{a.choices.map((choice) => <button key={choice} onClick={() => say(choice)}>{choice}</button>)}</p>}
      {a.question && !a.choices?.length && (
        <form className="row" onSubmit={(e) => { e.preventDefault(); say(text); }}>
          <input aria-label={c.answer} required value={text} onChange={(e) => setText(e.target.value)} />
          <button className="first">{c.answer}</button>
        </form>
      )}
      {a.theirs && <p>{a.asked?.length ? `${c.asked} ${a.asked.join(c.comma)}` : c.nobody}</p>}
      {a.theirs ? <p className="row"><button onClick={() => decide({ approved: false, withdrawn: true })}>{c.withdraw}</button></p> : <p className="row">
        {!a.question && <button className="first" onClick={() => decide({ approved: true })}>{t.approve}</button>}
        {!a.question && <button onClick={() => decide({ approved: true, lasts: "always" })}>{c.always}</button>}
        <button onClick={() => decide({ approved: false })}>{t.decline}</button>
      </p>}
    </section>
  );
}

// Asked is a call in another conversation that waits for the person's yes.
export function Asked({ about: a, decide }: { about: Other; decide: (approved: boolean) => void }) {
  const t = useTexts();
  const c = t.chat_;
  const [said, setSaid] = useState(false);
  const say = (approved: boolean) => { setSaid(true); decide(approved); };
  return (
    <article className="agent">
      <section className={a.over ? "card" : "card waits"}>
        <p>{a.name && a.name + c.comma}{straight(a.user || c.somebody)}{a.channel && ` (${a.channel})`} {c.asks} <b className="mono">{a.tool}</b> {a.risk && <span className="badge warn">{t.words[a.risk] ?? a.risk}</span>}</p>
        {a.arguments && <pre tabIndex={0}>{straight(a.arguments)}</pre>}
        {a.failed && <p role="alert" className="bad">{a.failed}</p>}
        {a.over ? <p className="soft">{c.over}</p> : (
          <p className="row">
            <button className="first" disabled={said && !a.failed} onClick={() => say(true)}>{t.approve}</button>
            <button disabled={said && !a.failed} onClick={() => say(false)}>{t.decline}</button>
          </p>
        )}
      </section>
    </article>
  );
}

function WhyLine({ why }: { why: () => Promise<Schemas["SelectionCompact"] | undefined> }) {
  const t = useTexts();
  const [found, setFound] = useState<Schemas["SelectionCompact"] | Error>();
  const open = () => !found && why().then((w) => setFound(w ?? new Error(t.nothing)), setFound);
  return (
    <details className="why" onToggle={(e) => e.currentTarget.open && open()}>
      <summary className="soft">{t.why}</summary>
      {found instanceof Error ? <p role="alert" className="bad">{found.message}</p> : found ? <Suspense fallback={t.loading}><Why compact={found} /></Suspense> : <p className="soft">{t.loading}</p>}
    </details>
  );
}
