import { StrictMode, useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from "react";
import { createRoot } from "react-dom/client";
import "../style.css";
import { type Language, LanguageContext, useTexts } from "../texts";
import "./chat.css";
import { Gateway } from "./gateway";
import { Asked, Said } from "./said";
import { Socket } from "./socket";
import { type File as Sent, remember, type Talk } from "./talk";

// At /chat the page speaks the gateway's own API, and at a channel's address the channel's protocol.
const talk: Talk = location.pathname.startsWith("/channels/") ? new Socket() : new Gateway();
talk.start();

const media = ["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"];

// kept reads what this browser remembers of the console's choices; a framed page may not.
function kept(name: string) {
  try { return localStorage.getItem(name) ?? undefined; } catch { return undefined; }
}

function Page({ turn }: { turn: () => void }) {
  const t = useTexts();
  const c = t.chat_;
  const s = useSyncExternalStore(talk.subscribe, () => talk.state);
  const log = useRef<HTMLElement>(null);
  const menu = useRef<HTMLDetailsElement>(null);
  const [atEnd, setAtEnd] = useState(true);
  const before = useRef(0); // where the conversation was scrolled to
  useLayoutEffect(() => {
    const l = log.current!;
    const follow = () => { if (atEnd) l.scrollTop = l.scrollHeight; };
    follow();
    const grows = new ResizeObserver(follow); // Markdown and pictures come later than their message
    for (const part of [l, ...l.children]) grows.observe(part);
    return () => grows.disconnect();
  }, [s.items, s.others, s.note, atEnd]);
  const moved = () => { // more may have come since: only who scrolls up leaves the end
    const l = log.current!;
    const end = l.scrollHeight - l.scrollTop - l.clientHeight < 80;
    if (end || l.scrollTop < before.current) setAtEnd(end);
    before.current = l.scrollTop;
  };
  const dark = () => {
    const root = document.documentElement;
    const now = root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    try { localStorage.theme = root.dataset.theme; } catch { /* a framed page forgets it */ }
  };
  const state = { connecting: c.connecting, lost: c.lost, ended: c.ended, key: "", "": s.works ? c.works : "" }[s.note];
  const left = (e: React.FocusEvent) => { // the settings cover the conversation
    if (menu.current && !menu.current.contains(e.target)) menu.current.open = false;
  };
  return (
    <div className="chat" onFocus={left}>
      <header>
        <h1 className="sr">{c.title}</h1>
        <details className="menu" ref={menu}>
          <summary>{c.settings}</summary>
          <div className="card">
            {talk.choose && s.note !== "key" && (
              <>
                {s.agents.length > 1 && (
                  <label>{t.agent}
                    <select value={s.agent} onChange={(e) => talk.choose!(e.target.value, "")}>
                      <option value="">{c.auto}</option>
                      {s.agents.map((a) => <option key={a}>{a}</option>)}
                    </select>
                  </label>
                )}
                {talk.enter && <label>{t.skill}
                  <select value={s.skill} onChange={(e) => talk.choose!(s.agent, e.target.value)}>
                    <option value="">{c.auto}</option>
                    {s.skills.map((k) => <option key={k.name} value={k.name} title={k.title}>{k.name}</option>)}
                  </select>
                </label>}
              </>
            )}
            {!talk.enter && ["/skill", "/help"].map((command) => <button key={command} className="mono" onClick={() => talk.say(command, [])}>{command}</button>)}
            <button onClick={turn} lang={t.language === "中文" ? "zh" : "en"}>{t.language}</button>
            <button onClick={dark}>{t.theme}</button>
            {talk.enter && remember.get("key") && <button onClick={() => talk.enter!("")}>{c.leave}</button>}
          </div>
        </details>
        <span className="soft mono">{[s.agent, s.skill].filter(Boolean).join(" · ")}</span>
        <button onClick={() => talk.fresh()}>{c.fresh}</button>
      </header>
      <main ref={log} onScroll={moved} tabIndex={0} aria-label={c.title}>
        {s.note === "key" ? <KeyForm error={s.error} /> : (
          <div role="log" aria-live="polite" aria-busy={s.works}>
            {s.items.length + s.others.length === 0 && <p className="soft empty">{c.nothing}</p>}
            {s.items.map((item) => <Said key={item.id} item={item} talk={talk} />)}
            {s.others.map((o) => <Asked key={o.id} about={o} decide={(approved) => talk.decide!(o, approved)} />)}
          </div>
        )}
      </main>
      {!atEnd && <button className="newer" onClick={() => setAtEnd(true)}>↓ {c.newer}</button>}
      <p role="status" className={"state soft" + (s.works ? " works" : "")}>{!["key", "ended"].includes(s.note) && (c.refused[s.error ?? ""] ?? s.error)} {state}</p>
      <Composer works={s.works} files={s.files} off={s.note === "key" || s.note === "ended"} said={() => setAtEnd(true)} />
    </div>
  );
}

function KeyForm({ error }: { error?: string }) {
  const c = useTexts().chat_;
  const [key, setKey] = useState("");
  return (
    <form className="card" onSubmit={(e) => { e.preventDefault(); talk.enter?.(key.trim()); }}>
      {error && <p role="alert" className="bad">{error}</p>}
      <p>{c.keyHow}</p>
      <p><label>{c.key}<input type="password" autoComplete="off" required value={key} onChange={(e) => setKey(e.target.value)} /></label></p>
      <button className="first">{c.enter}</button>
    </form>
  );
}

// Composer is where the person writes, and puts files: by the button, by pasting and by dropping.
function Composer({ works, files, off, said }: { works: boolean; files: boolean; off: boolean; said: () => void }) {
  const { chat_: c, stop } = useTexts();
  const [text, setText] = useState("");
  const [taken, setTaken] = useState<Sent[]>([]);
  const [wrong, setWrong] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const take = async (list: FileList | null | undefined) => {
    const all = [...(list ?? [])];
    const good = all.filter((f) => media.includes(f.type));
    const read = await Promise.all(good.map(async (f) => ({ name: f.name, type: f.type, data: encode(new Uint8Array(await f.arrayBuffer())) })));
    const next = [...taken, ...read];
    const tooMuch = next.length > 8 || next.reduce((sum, f) => sum + (f.data.length * 3) / 4, 0) > 12 << 20;
    setWrong(tooMuch || good.length < all.length);
    if (!tooMuch) setTaken(next);
  };
  const send = () => {
    if (off || (!text.trim() && taken.length === 0)) return;
    talk.say(text, taken);
    setText("");
    setTaken([]);
    setWrong(false);
    said();
    field.current?.focus();
  };
  return (
    <form
      className="composer"
      aria-label={c.write}
      onSubmit={(e) => { e.preventDefault(); send(); }}
      onDragOver={(e) => files && e.preventDefault()}
      onDrop={(e) => { if (files) { e.preventDefault(); void take(e.dataTransfer.files); } }}
    >
      {wrong && <p role="alert" className="bad">{c.large}</p>}
      {taken.length > 0 && (
        <ul className="row">
          {taken.map((f, i) => (
            <li key={i} className="badge">{f.name} <button type="button" aria-label={`${c.remove} ${f.name}`} onClick={() => setTaken(taken.filter((_, j) => j !== i))}>×</button></li>
          ))}
        </ul>
      )}
      <div className="line">
        {files && (
          <>
            <input ref={picker} className="sr" type="file" tabIndex={-1} aria-hidden multiple accept={media.join()} onChange={(e) => { void take(e.target.files); e.target.value = ""; }} />
            <button type="button" aria-label={c.attach} title={c.attach} disabled={off} onClick={() => picker.current?.click()}>+</button>
          </>
        )}
        <textarea
          ref={field}
          rows={1}
          autoFocus
          disabled={off}
          aria-label={c.write}
          placeholder={c.write}
          value={text}
          onChange={(e) => setText(e.target.value)}
          onPaste={(e) => files && e.clipboardData.files.length > 0 && void take(e.clipboardData.files)}
          onKeyDown={(e) => {
            if (e.key !== "Enter" || e.shiftKey || e.nativeEvent.isComposing || matchMedia("(pointer: coarse)").matches) return;
            e.preventDefault();
            send();
          }}
        />
        {works && <button type="button" onClick={() => talk.stop()}>{stop}</button>}
        <button className="first" disabled={off}>{c.say}</button>
      </div>
    </form>
  );
}

// encode writes bytes in base64, in pieces that fit a call's arguments.
function encode(bytes: Uint8Array) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text);
}

function App() {
  const [language, setLanguage] = useState<Language>(() => (kept("language") as Language) ?? (navigator.language.startsWith("zh") ? "zh" : "en"));
  useEffect(() => {
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
    document.title = language === "zh" ? "聊天" : "Chat";
  }, [language]);
  const turn = () => setLanguage((now) => {
    const other = now === "zh" ? "en" : "zh";
    try { localStorage.language = other; } catch { /* a framed page forgets it */ }
    return other;
  });
  return <LanguageContext value={language}><Page turn={turn} /></LanguageContext>;
}

const theme = kept("theme");
if (theme) document.documentElement.dataset.theme = theme;
createRoot(document.getElementById("root")!).render(<StrictMode><App /></StrictMode>);
