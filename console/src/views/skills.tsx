import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api, type Schemas } from "../api";
import { Act, Badge, Card, Loaded, Page, Risk, useTime } from "../parts";
import { useTexts, useWord } from "../texts";
import { Chart, overTime } from "./chart";
import { Difference } from "./diff";
import { Install } from "./install";

type Held = { tool: string; why?: string[]; accepted?: unknown; offered?: unknown };

// Skills lists the skills with their states, and the files from which none could be read.
export function Skills() {
  const t = useTexts();
  const found = useQuery({ queryKey: ["skills"], queryFn: () => answer(api.GET("/admin/skills")) });
  return (
    <Page title={t.skills}>
      <Loaded query={found}>
        {(list) => (
          <>
            {list.trouble && <p role="alert" className="card bad">{list.trouble}</p>}
            {(list.failed?.length ?? 0) > 0 && (
              <Card title={t.broken}>
                {list.failed?.map((f) => <p key={f.source}><span className="mono">{f.source}</span>: <span className="bad">{f.error}</span></p>)}
              </Card>
            )}
            {!list.skills?.length && <p className="soft">{t.nothing}</p>}
            {list.skills?.map((s) => <Skill key={s.name} skill={s} />)}
          </>
        )}
      </Loaded>
      <Install />
    </Page>
  );
}

function Skill({ skill: s }: { skill: Schemas["AdminSkillStatus"] }) {
  const t = useTexts();
  const word = useWord();
  const time = useTime();
  const change = (change: string, body: Partial<Schemas["AdminChange"]> = {}) =>
    answer(api.POST("/admin/skills/{name}/{change}", { params: { path: { name: s.name, change } }, body: body as Schemas["AdminChange"] }));
  const held = (s.server as { held?: Held[] } | undefined)?.held ?? [];
  return (
    <section className="card">
      <div className="bar">
        <h2>{s.name} <span className="soft">{s.version}</span></h2>
        <div className="row">
          <Badge kind={s.state === "enabled" ? "good" : "warn"}>{word(s.state)}</Badge>
          <Risk of={s.risk} />
          {s.state === "enabled" ? <Act label={t.disable} act={() => change("disable")} /> : <Act label={t.enable} act={() => change("enable")} />}
        </div>
      </div>
      <p>{s.description}</p>
      {s.error && <p className="bad">{s.error}</p>}
      {s.why && <p className="warn">{s.why}</p>}
      {s.warnings?.map((w) => <p key={w} className="warn">{w}</p>)}
      <p className="soft">{s.kind} · {s.provider} · {s.source} · {time(s.since)}</p>
      {(s.tools?.length ?? 0) > 0 && (
        <details>
          <summary>{s.tools?.length} {t.tools}</summary>
          <p className="mono">{s.tools?.join(", ")}</p>
        </details>
      )}
      {s.counters.calls > 0 && <Use skill={s} />}
      {held.map((h) => (
        <div key={h.tool} className="said tool">
          <p className="row"><b>{h.tool}</b> <Badge kind="warn">{t.held}</Badge> {h.why?.join("; ")}</p>
          <Difference before={h.accepted} now={h.offered} label={`${t.held}: ${h.tool}`} />
          <Act label={t.accept} act={() => change("approve", { tools: [h.tool] } as Partial<Schemas["AdminChange"]>)} />
        </div>
      ))}
    </section>
  );
}

// Use shows what a skill did, once somebody opens it.
function Use({ skill: s }: { skill: Schemas["AdminSkillStatus"] }) {
  const t = useTexts();
  const [open, setOpen] = useState(false);
  const calls = useQuery({ queryKey: ["calls", s.name], enabled: open, queryFn: () => answer(api.GET("/admin/skills/{name}/calls", { params: { path: { name: s.name }, query: { limit: "1000" } } })) });
  return (
    <details onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{s.counters.calls} {t.calls}{s.counters.median_ms ? ` · ${t.median} ${s.counters.median_ms} ms · ${t.slowest} ${s.counters.p95_ms ?? "–"} ms` : ""}{Object.entries(s.counters.failures ?? {}).map(([kind, n]) => ` · ${kind} ${n}`)}</summary>
      {open && <Loaded query={calls}>{(list) => <Chart {...overTime((list ?? []).map((c) => ({ time: c.time, kind: c.outcome })))} label={t.useOver} />}</Loaded>}
    </details>
  );
}
