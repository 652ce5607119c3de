import { useMutation, useQuery } from "@tanstack/react-query";
import type { ColumnDef } from "@tanstack/react-table";
import { useContext, useEffect, useId, useRef, useState } from "react";
import { answer, api, type Schemas } from "../api";
import { Badge, Card, Failure, Figure, Page, Rows } from "../parts";
import { LanguageContext, useTexts, useWord } from "../texts";
import { Funnel } from "./funnel";

type Caller = { as: string; roles: string; channel: string; chat: string; agent: string; skill: string; strategy: string; mode: string; limit: string; budget: string };
type Answer = Schemas["Answer"];
const nobody: Caller = { as: "", roles: "", channel: "", chat: "", agent: "", skill: "", strategy: "", mode: "", limit: "", budget: "" };

// ask returns what a message of a caller would get; nothing runs.
const ask = (text: string, c: Caller, configuration?: string) =>
  answer(api.POST("/api/select", {
    body: {
      text, as: c.as || undefined, roles: c.roles ? c.roles.split(/[\s,，]+/) : undefined, channel: c.channel || undefined, chat: c.chat || undefined,
      agent: c.agent || undefined, skill: c.skill || undefined, strategy: c.strategy || undefined, mode: c.mode || undefined, limit: Number(c.limit) || undefined, budget: Number(c.budget) || undefined, configuration: configuration || undefined,
    } as Schemas["Question"],
  }));

// WhatIf shows what a message would get, beside what another caller would.
export function WhatIf() {
  const t = useTexts();
  const [text, setText] = useState("");
  const [callers, setCallers] = useState<Caller[]>([nobody]);
  const [rules, setRules] = useState<string>();
  const found = useMutation({ mutationFn: () => Promise.all(callers.map((c, i) => ask(text, c, i ? rules : undefined))) });
  const { data, mutate } = found;
  const language = useContext(LanguageContext);
  const asked = useRef(language);
  useEffect(() => {
    if (asked.current !== language && data) mutate(); // the answer is in the language of the question
    asked.current = language;
  }, [language, data, mutate]);
  const file = useMutation({ mutationFn: () => answer(api.GET("/admin/configuration")), onSuccess: (f) => setRules(f.text) });
  const other = (on: boolean) => {
    if (on) file.mutate();
    else setRules(undefined);
    setCallers(on ? [callers[0], callers[1] ?? callers[0]] : callers);
  };
  const id = useId();
  return (
    <Page title={t.whatIf}>
      <form className="card" onSubmit={(e) => { e.preventDefault(); found.mutate(); }}>
        <label htmlFor={id}>{t.message}</label>
        <textarea id={id} rows={3} value={text} onChange={(e) => setText(e.target.value)} required />
        {callers.map((c, i) => (
          <fieldset key={i} className="card">
            <legend>{callers.length > 1 ? (i ? t.second : t.first) : t.first}</legend>
            <CallerFields caller={c} change={(next) => setCallers(callers.map((old, at) => (at === i ? next : old)))} />
          </fieldset>
        ))}
        {rules !== undefined && callers.length > 1 && (
          <p>
            <label htmlFor={id + "rules"}>{t.otherRulesHow}</label>
            <textarea id={id + "rules"} className="mono" rows={10} spellCheck={false} value={rules} onChange={(e) => setRules(e.target.value)} />
          </p>
        )}
        <div className="row">
          <button className="first" disabled={found.isPending}>{t.ask}</button>
          <label className="row"><input type="checkbox" checked={callers.length > 1} onChange={(e) => setCallers(e.target.checked ? [callers[0], callers[0]] : [callers[0]])} />{t.compare}</label>
          <label className="row"><input type="checkbox" checked={rules !== undefined} onChange={(e) => other(e.target.checked)} />{t.otherRules}</label>
        </div>
        {(found.error ?? file.error) && <Failure error={(found.error ?? file.error)!} />}
      </form>
      {found.data && (
        <div className={found.data.length > 1 ? "grid" : undefined}>
          {found.data.map((x, i) => <Selection key={i} x={x} whose={i ? t.second : t.first} other={found.data[1 - i]} />)}
        </div>
      )}
    </Page>
  );
}

function CallerFields({ caller, change }: { caller: Caller; change: (c: Caller) => void }) {
  const t = useTexts();
  const word = useWord();
  const agents = useQuery({ queryKey: ["agents"], queryFn: () => answer(api.GET("/api/agents")) });
  const toolsets = useQuery({ queryKey: ["toolsets"], queryFn: () => answer(api.GET("/api/skills")) });
  const id = useId();
  const choices: Partial<Record<keyof Caller, string[]>> = {
    agent: agents.data?.map((a) => a.name) ?? [],
    skill: toolsets.data?.skills?.map((s) => s.name) ?? [],
    mode: ["auto", "direct", "preselect", "bridge", "native"],
    strategy: ["full", "lite", "custom"],
  };
  const fields: [keyof Caller, string][] = [["as", t.user], ["roles", t.roles], ["channel", t.channel], ["chat", t.chat], ["agent", t.agent], ["skill", t.skill], ["strategy", t.strategy], ["mode", t.mode], ["limit", t.limit], ["budget", t.budget]];
  const numbers: (keyof Caller)[] = ["limit", "budget"];
  return (
    <div className="fields">
      {fields.map(([name, label]) => (
        <div key={name}>
          <label htmlFor={id + name}>{label}</label>
          {choices[name]?.length ? (
            <select id={id + name} value={caller[name]} onChange={(e) => change({ ...caller, [name]: e.target.value })}>
              <option value="">–</option>
              {choices[name]?.map((v) => <option key={v} value={v}>{name === "mode" || name === "strategy" ? word(v) : v}</option>)}
            </select>
          ) : (
            <input id={id + name} type={numbers.includes(name) ? "number" : undefined} min={0} value={caller[name]} onChange={(e) => change({ ...caller, [name]: e.target.value })} />
          )}
        </div>
      ))}
    </div>
  );
}

// Selection shows what a message gets, and why, as a picture and tool by tool.
export function Selection({ x, whose, other }: { x: Answer; whose: string; other?: Answer }) {
  const t = useTexts();
  const word = useWord();
  const elsewhere = other && new Set(other.tools?.filter((v) => v.sent).map((v) => v.tool));
  const columns: ColumnDef<Schemas["SelectionVerdict"]>[] = [
    {
      id: "tool", header: t.tool, accessorKey: "tool",
      cell: ({ row: { original: v } }) => (
        <>
          <span className="mono">{v.tool}</span> {v.sent && <Badge kind="good">{t.sent}</Badge>}{" "}
          {v.sent && elsewhere && !elsewhere.has(v.tool) && <Badge kind="warn">{t.onlyHere}</Badge>}
        </>
      ),
    },
    { id: "score", header: t.score, accessorKey: "score", meta: "number", cell: ({ row: { original: v } }) => (v.score ? v.score.toFixed(2) : "") },
    {
      id: "reason", header: t.reason, accessorKey: "reason",
      cell: ({ row: { original: v } }) => (
        <>
          {v.reason}
          {v.recommendation && <p className="soft">{t.points} {v.recommendation.score.toFixed(0)}: {t.factors.channel} {v.recommendation.channel.toFixed(0)}, {t.factors.keyword} {v.recommendation.keyword.toFixed(0)}, {t.factors.history} {v.recommendation.history.toFixed(0)}, {t.factors.recency} {v.recommendation.recency.toFixed(0)}</p>}
          {(v.terms?.length ?? 0) > 0 && (
            <details>
              <summary className="soft">{t.parts}</summary>
              <ul>
                {v.terms?.map((term, i) => <li key={i}><b>{term.word}</b> {term.score.toFixed(2)} <span className="soft">{[term.from && `${t.from} ${term.from}`, term.why, term.fields && Object.entries(term.fields).map(([f, n]) => `${f} ${n.toFixed(2)}`).join(", ")].filter(Boolean).join(" · ")}</span></li>)}
                {v.meaning ? <li>{t.meaning} {v.meaning.toFixed(2)}</li> : null}
              </ul>
            </details>
          )}
        </>
      ),
    },
    { id: "tokens", header: t.tokens, accessorKey: "tokens", meta: "number hide" },
  ];
  return (
    <div>
      <Card>
        <div className="figures">
          <Figure value={x.counts.sent} label={t.sentTools} />
          <Figure value={x.counts.all} label={t.allTools} />
          <Figure value={(x.tokens.sent + x.tokens.meta).toLocaleString()} label={t.tokens} />
          <Figure value={`${Math.round(x.tokens.saved_percent)} %`} label={t.tokensSaved} />
        </div>
        {x.request && <p><span className="soft">{t.taken}:</span> {x.request}</p>}
        <p><span className="soft">{t.whyMode}:</span> {word(x.mode)}: {x.why}</p>
        {x.advice && <p className="soft">{x.advice}</p>}
      </Card>
      <Card title={t.funnel}><Funnel steps={x.funnel ?? []} sent={x.counts.sent} /></Card>
      <Card title={t.verdicts}><Rows rows={x.tools ?? []} columns={columns} label={`${t.verdicts}: ${whose}`} mark={(v) => v.sent} /></Card>
    </div>
  );
}
