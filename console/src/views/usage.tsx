import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useId, useState } from "react";
import { answer, api, type Schemas } from "../api";
import { Card, Failure, Figure, Loaded, Page, Rows, useTime } from "../parts";
import { useTexts } from "../texts";
import { Chart, type Event, overTime, type Series } from "./chart";
import { savedTokens } from "./why";

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
                  { id: "user", header: t.user, accessorFn: (x) => x.user ?? "" },
                  { id: "channel", header: t.channel, accessorFn: (x) => x.channel ?? "", meta: "hide" },
                  { id: "tools", header: t.tools, accessorFn: (x) => x.tools?.join(", ") ?? "" },
                  { id: "time", header: t.time, accessorKey: "time", cell: ({ row }) => time(row.original.time) },
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
          const part = (n: number, of: number) => (of ? ` (${Math.floor((100 * n) / of)} %)` : "");
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

// latest is how many conversations are read to add up what their messages were sent.
const latest = 50;

type Counted = { time: string; agent: string; user: string; channel: string; tools: string[]; sent: number; saved: number };

// Messages adds up what the messages of the latest conversations were sent, and what that saved.
function Messages({ side }: { side: Side }) {
  const t = useTexts();
  const counted = useMutation({
    mutationFn: async () => {
      const page = await answer(api.GET("/admin/sessions", { params: { query: { limit: String(latest) } } }));
      const list: Counted[] = [];
      for (const s of page.sessions ?? []) {
        const c = await answer(api.GET("/admin/sessions/{key}", { params: { path: { key: s.key } } }));
        for (const m of c.said ?? []) {
          const why = m.why as Schemas["SelectionCompact"] | undefined | null;
          if (why && m.time) list.push({ time: m.time, agent: /^agent:([^:]+)/.exec(s.key)?.[1] ?? "–", user: m.user ?? "", channel: m.channel ?? "", tools: (why.declared ?? []).map((x) => x.tool), sent: why.tokens_sent + (why.tokens_meta ?? 0), saved: savedTokens(why) });
        }
      }
      return list;
    },
  });
  const list = counted.data ?? [];
  const groups = new Map<string, Counted[]>();
  for (const c of list) for (const kind of side === "tool" ? c.tools : [c[side] || "–"]) groups.set(kind, [...(groups.get(kind) ?? []), c]);
  const rows = [...groups].map(([name, of]) => ({ name, messages: of.length, sent: of.reduce((n, c) => n + c.sent, 0), saved: of.reduce((n, c) => n + c.saved, 0) }));
  const events = list.flatMap((c): Event[] => [{ time: c.time, kind: t.tokensSent, n: c.sent }, { time: c.time, kind: t.tokensSaved, n: c.saved }]);
  return (
    <Card title={t.tokensOver}>
      <p className="row"><button disabled={counted.isPending} onClick={() => counted.mutate()}>{t.count}</button> <span className="soft">{t.countHow} {latest}</span></p>
      {counted.error && <Failure error={counted.error} />}
      {counted.data && (
        <>
          <Chart {...overTime(events)} label={t.tokensOver} />
          <Rows rows={rows} label={`${t.tokensOver}, ${t.by} ${t[side]}`} columns={[
            { id: "name", header: t[side], accessorKey: "name" },
            { id: "messages", header: t.messages, accessorKey: "messages", meta: "number" },
            { id: "sent", header: t.tokensSent, accessorKey: "sent", meta: "number" },
            { id: "saved", header: t.tokensSaved, accessorKey: "saved", meta: "number" },
          ]} />
        </>
      )}
    </Card>
  );
}
