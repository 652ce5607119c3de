import { useQuery } from "@tanstack/react-query";
import { useEffect, useId, useState } from "react";
import { answer, api, type Schemas } from "../api";
import { Card, Figure, Loaded, Names, Page, Rows, useTime } from "../parts";
import { useTexts } from "../texts";
import { Chart, type Event, overTime, type Series } from "./chart";
import { money } from "./why";

type Turn = Schemas["UsageTurn"];
const sides = ["agent", "channel", "user", "tool"] as const;
type Side = (typeof sides)[number];

// Usage shows what was asked and used, and how many tokens were sent and saved.
export function Usage() {
  const t = useTexts();
  const time = useTime();
  const [side, setSide] = useState<Side>("agent");
  const found = useQuery({ queryKey: ["usage"], queryFn: () => answer(api.GET("/api/usage", { params: { query: { limit: "1000" } } })) });
  return (
    <Page title={t.usage} aside={<By side={side} change={setSide} />}>
      <Tokens />
      <Messages side={side} />
      <Loaded query={found}>
        {({ turns, keep }) => {
          const list = turns ?? [];
          if (!keep && !list.length) return <Card title={t.turnsOver}><p className="soft">{t.usageOff} <code>usage: {"{keep: true}"}</code></p></Card>;
          return (
            <>
              <Card title={t.turnsOver}><Chart {...overTime(list.flatMap((x) => kinds(x, side).map((kind) => ({ time: x.time, kind }))))} label={t.turnsOver} /></Card>
              <Card title={t.recent}>
                <Rows<Turn> rows={list} label={t.recent} columns={[
                  { id: "text", header: t.text, accessorKey: "text" },
                  { id: "agent", header: t.agent, accessorKey: "agent", meta: "hide" },
                  { id: "user", header: t.user, accessorFn: (x) => x.user ?? "", meta: "hide" },
                  { id: "channel", header: t.channel, accessorFn: (x) => x.channel ?? "", meta: "hide" },
                  { id: "tools", header: t.tools, accessorFn: (x) => x.tools?.join(", ") ?? "", meta: "whole", cell: ({ row }) => <Names of={row.original.tools ?? []} /> },
                  { id: "time", header: t.time, accessorKey: "time", meta: "when", cell: ({ row }) => time(row.original.time) },
                ]} />
              </Card>
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

function By({ side, change }: { side: Side; change: (side: Side) => void }) {
  const t = useTexts();
  const id = useId();
  return (
    <>
      <label htmlFor={id}>{t.by}</label>
      <span><select id={id} value={side} onChange={(e) => change(e.target.value as Side)}>{sides.map((s) => <option key={s} value={s}>{t[s]}</option>)}</select></span>
    </>
  );
}

const kinds = (x: Turn, side: Side) => (side === "tool" ? [...(x.tools ?? []), ...(x.failed ?? [])] : [x[side] || "–"]);

type Sample = { at: number; counts: Record<string, number> };
// samples is how many readings of the counters a page keeps: an hour's.
const samples = 720;

// Tokens shows the counters since the start, and how they go on while the page is open.
function Tokens() {
  const t = useTexts();
  const found = useQuery({ queryKey: ["metrics"], refetchInterval: 5_000, queryFn: async () => read((await answer(api.GET("/metrics", { parseAs: "text" }) as never)) as string) });
  const [seen, setSeen] = useState<Sample[]>([]);
  useEffect(() => { if (found.data) setSeen((now) => [...now, found.data].slice(-samples)); }, [found.data]);
  return (
    <Card title={t.sinceStart}>
      <Loaded query={found}>
        {({ counts: c }) => {
          const all = (c.tools_sent ?? 0) + (c.tools_saved ?? 0);
          const part = (n: number, of: number) => (of ? ` (${Math.floor((100 * n) / of)}\u00a0%)` : "");
          const kinds: [string, string][] = [["tools_sent", t.tokensSent], ["tools_saved", t.tokensSaved], ["input", t.input], ["cache_read", t.cacheHits], ["output", t.output]];
          const rates: Series[] = kinds.map(([kind, label]) => ({ label, values: seen.slice(1).map((s, i) => Math.max(0, (s.counts[kind] ?? 0) - (seen[i].counts[kind] ?? 0))) }));
          return (
            <>
              <div className="figures">
                <Figure value={(c.tools_sent ?? 0).toLocaleString()} label={t.tokensSent} />
                <Figure value={(c.tools_saved ?? 0).toLocaleString() + part(c.tools_saved ?? 0, all)} label={t.tokensSaved} />
                <Figure value={(c.cache_read ?? 0).toLocaleString() + part(c.cache_read ?? 0, (c.input ?? 0))} label={t.cacheHits} />
                <Figure value={(c.input ?? 0).toLocaleString()} label={t.input} />
                <Figure value={(c.output ?? 0).toLocaleString()} label={t.output} />
              </div>
              {seen.length > 1 && <Chart lines times={seen.slice(1).map((s) => s.at)} series={rates} label={t.sinceOpen} />}
            </>
          );
        }}
      </Loaded>
    </Card>
  );
}

// read takes the counters of tokens from Prometheus' text.
function read(text: string): Sample {
  const counts: Record<string, number> = {};
  for (const [, kind, n] of text.matchAll(/^etui_tokens_total\{kind="(\w+)"\} (\S+)$/gm)) counts[kind] = Number(n);
  return { at: Date.now() / 1000, counts };
}

// latest is how many messages are added up.
const latest = 500;

type Past = Schemas["InspectPastTurn"];

// Messages adds up what the latest messages were sent, took and cost, and what that saved.
function Messages({ side }: { side: Side }) {
  const t = useTexts();
  const found = useQuery({ queryKey: ["turns", latest], queryFn: () => answer(api.GET("/admin/turns", { params: { query: { limit: String(latest) } } })) });
  return (
    <Card title={t.tokensOver}>
      <p className="soft">{t.countHow} {latest}</p>
      <Loaded query={found}>{(list) => <Summed list={list ?? []} side={side} />}</Loaded>
    </Card>
  );
}

function Summed({ list, side }: { list: Past[]; side: Side }) {
  const t = useTexts();
  const groups = new Map<string, Past[]>();
  const of = (x: Past) => (side === "tool" ? [...new Set(x.calls?.map((c) => c.tool))] : [x[side] || "–"]);
  for (const x of list) for (const kind of of(x)) groups.set(kind, [...(groups.get(kind) ?? []), x]);
  const sum = (of: Past[], n: (x: Past) => number | undefined) => of.reduce((all, x) => all + (n(x) ?? 0), 0);
  const rows = [...groups].map(([name, of]) => {
    const took = of.flatMap((x) => (x.took_ms ? [x.took_ms] : [])).sort((x, y) => x - y);
    const input = sum(of, (x) => x.input);
    return {
      name, messages: of.length, sent: sum(of, (x) => x.tokens), saved: sum(of, (x) => x.saved), cost: sum(of, (x) => x.cost), spared: sum(of, (x) => x.spared),
      hits: input ? sum(of, (x) => x.cached) / input : -1, median: took[Math.floor(took.length / 2)] ?? -1, slow: took[Math.floor((took.length - 1) * 0.95)] ?? -1,
    };
  });
  const events = (kinds: [string, (x: Past) => number | undefined][]) => overTime(list.flatMap((x): Event[] => kinds.map(([kind, n]) => ({ time: x.time, kind, n: n(x) ?? 0 }))));
  const priced = list.some((x) => x.cost);
  const seconds = (ms: number) => (ms < 0 ? "–" : `${(ms / 1000).toFixed(1)} s`);
  if (!list.length) return <p className="soft">{t.nothing}</p>;
  return (
    <>
      <Chart {...events([[t.tokensSent, (x) => x.tokens], [t.tokensSaved, (x) => x.saved]])} label={t.tokensOver} />
      {list.some((x) => x.input) && <><h2>{t.modelTokens}</h2><Chart {...events([[t.cacheHits, (x) => x.cached], [t.input, (x) => (x.input ?? 0) - (x.cached ?? 0)], [t.output, (x) => x.output]])} label={t.modelTokens} /></>}
      {priced ? <><h2>{t.money}</h2><Chart {...events([[t.cost, (x) => x.cost], [t.spared, (x) => x.spared]])} label={t.money} /></> : list.length > 0 && <p className="soft">{t.noPrice} <code>price: {"{input: 2, output: 10}"}</code></p>}
      <Rows rows={rows} label={`${t.tokensOver}, ${t.by} ${t[side]}`} columns={[
        { id: "name", header: t[side], accessorKey: "name" },
        { id: "messages", header: t.messages, accessorKey: "messages", meta: "number" },
        { id: "sent", header: t.tokensSent, accessorKey: "sent", meta: "number hide", cell: ({ row }) => row.original.sent.toLocaleString() },
        { id: "saved", header: t.tokensSaved, accessorKey: "saved", meta: "number", cell: ({ row }) => row.original.saved.toLocaleString() },
        ...(priced ? [
          { id: "cost", header: t.cost, accessorKey: "cost", meta: "number", cell: ({ row }: { row: { original: { cost: number } } }) => money(row.original.cost) },
          { id: "spared", header: t.spared, accessorKey: "spared", meta: "number hide", cell: ({ row }: { row: { original: { spared: number } } }) => money(row.original.spared) },
        ] : []),
        { id: "hits", header: t.hits, accessorKey: "hits", meta: "number", cell: ({ row }) => (row.original.hits < 0 ? "–" : `${Math.floor(100 * row.original.hits)} %`) },
        { id: "median", header: t.median, accessorKey: "median", meta: "number hide", cell: ({ row }) => seconds(row.original.median) },
        { id: "slow", header: t.slowest, accessorKey: "slow", meta: "number hide", cell: ({ row }) => seconds(row.original.slow) },
      ]} />
    </>
  );
}
