import * as Tabs from "@radix-ui/react-tabs";
import { useQueries, useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import type { ColumnDef } from "@tanstack/react-table";
import { lazy, Suspense, useState } from "react";
import { answer, api, type Schemas } from "../api";
import { Badge, Failure, Loaded, Page, Rows } from "../parts";
import { useTexts } from "../texts";

const Editor = lazy(() => import("./editor"));

// Rules shows the rules in effect, whom they let use what, and the file in which they are.
export function Rules() {
  const t = useTexts();
  const status = useQuery({ queryKey: ["status"], queryFn: () => answer(api.GET("/api/status")) });
  const { example } = useSearch({ strict: false }) as { example?: string };
  const list = (rules: Schemas["RulesStatus"][] | null, label: string) => (
    <Rows rows={rules ?? []} label={label} columns={[
      { id: "rule", header: t.rule, accessorKey: "rule" },
      { id: "what", header: t.tools, accessorFn: (r) => (["allow", "ask", "deny"] as const).flatMap((k) => (r[k]?.length ? [`${t.effects[k]} ${r[k]?.join(", ")}`] : [])).join("; ") },
      { id: "when", header: t.when, accessorFn: (r) => r.when ?? "", cell: ({ row }) => <code>{row.original.when}</code> },
      { id: "reason", header: t.reason, accessorFn: (r) => r.reason ?? "", meta: "hide" },
      { id: "failures", header: t.failures, accessorKey: "failures", meta: "number hide" },
    ]} />
  );
  return (
    <Page title={t.rules}>
      <Tabs.Root defaultValue={example ? "file" : "visibility"} className="card">
        <Tabs.List className="tabs" aria-label={t.rules}>
          <Tabs.Trigger value="visibility">{t.visibility}</Tabs.Trigger>
          <Tabs.Trigger value="policy">{t.policy}</Tabs.Trigger>
          <Tabs.Trigger value="matrix">{t.matrix}</Tabs.Trigger>
          <Tabs.Trigger value="file">{t.file}</Tabs.Trigger>
        </Tabs.List>
        <Tabs.Content value="visibility"><Loaded query={status}>{(s) => list(s.rules, t.visibility)}</Loaded></Tabs.Content>
        <Tabs.Content value="policy"><Loaded query={status}>{(s) => list(s.policy, t.policy)}</Loaded></Tabs.Content>
        <Tabs.Content value="matrix"><Matrix /></Tabs.Content>
        <Tabs.Content value="file"><Suspense fallback={<p className="soft">{t.loading}</p>}><Editor example={example} /></Suspense></Tabs.Content>
      </Tabs.Root>
    </Page>
  );
}

type Cell = { kind: "good" | "warn" | "bad"; says: string; reason: string };

// hiding are the stages at which a tool is kept from a caller whatever the question is.
const hiding = new Set(["enabled", "groups", "visibility", "skill", "request"]);

// Matrix shows which tools each of some callers may use, and what decides.
function Matrix() {
  const t = useTexts();
  const [callers, setCallers] = useState<string[]>([""]);
  const [next, setNext] = useState("");
  const found = useQueries({
    queries: callers.map((as) => ({
      queryKey: ["matrix", as],
      queryFn: () => answer(api.POST("/api/select", { body: { text: "?", judge: true, ...callerOf(as) } as Schemas["Question"] })),
    })),
  });
  const names = [...new Set(found.flatMap((f) => f.data?.tools?.map((v) => v.tool) ?? []))].sort();
  // The visibility decides first, and of what is seen the policy.
  const cells = found.map((f) => {
    const judged = new Map(f.data?.refused?.map((j) => [j.tool, j]));
    return new Map(f.data?.tools?.map((v): [string, Cell] => {
      if (hiding.has(v.stage)) return [v.tool, { kind: "bad", says: t.effects.hidden, reason: v.reason }];
      const j = judged.get(v.tool);
      if (!j) return [v.tool, { kind: "good", says: t.effects.allow, reason: "" }];
      const reason = (j.reason || j.rule || "") + (j.depends ? ` (${t.depends})` : "");
      return [v.tool, { kind: j.effect === "ask" ? "warn" : "bad", says: t.effects[j.effect] ?? j.effect, reason }];
    }));
  });
  const columns: ColumnDef<string>[] = [
    { id: "tool", header: t.tool, accessorFn: (name) => name, cell: ({ row }) => <span className="mono">{row.original}</span> },
    ...callers.map((as, i): ColumnDef<string> => ({
      id: "caller" + i, header: as || "–", accessorFn: (name) => [cells[i].get(name)?.says, cells[i].get(name)?.reason].join(" "),
      cell: ({ row }) => {
        const cell = cells[i].get(row.original);
        return cell && <><Badge kind={cell.kind}>{cell.says}</Badge> <span className="soft">{cell.reason}</span></>;
      },
    })),
  ];
  return (
    <>
      <form className="row" onSubmit={(e) => { e.preventDefault(); if (next && callers.length < 8) setCallers([...callers, next]); setNext(""); }}>
        <label htmlFor="caller">{t.user}, {t.roles} (role:admin), {t.channel} (channel:web)</label>
        <input id="caller" value={next} onChange={(e) => setNext(e.target.value)} placeholder="alice role:admin channel:slack" />
        <button>{t.addCaller}</button>
      </form>
      {found.map((f, i) => f.error && <Failure key={i} error={f.error} />)}
      <Rows rows={names} columns={columns} label={t.matrix} />
    </>
  );
}

// callerOf reads "alice role:admin channel:web chat:#ops".
function callerOf(text: string) {
  const words = text.split(/\s+/).filter(Boolean);
  const named = (kind: string) => words.filter((w) => w.startsWith(kind + ":")).map((w) => w.slice(kind.length + 1));
  return { as: words.find((w) => !/^(role|channel|chat):/.test(w)), roles: named("role").length ? named("role") : undefined, channel: named("channel")[0], chat: named("chat")[0] };
}
