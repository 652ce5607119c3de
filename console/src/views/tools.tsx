import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import type { ColumnDef } from "@tanstack/react-table";
import { useState } from "react";
import { answer, api, type Schemas } from "../api";
import { Badge, Card, Failure, Figure, Loaded, Page, Risk, Rows } from "../parts";
import { useTexts } from "../texts";
import { Chart, mediansOverTime, overTime } from "./chart";

// There may be ten thousand: the list leaves out what it does not show, and is not compared with an older one.
const useTools = () =>
  useQuery({ queryKey: ["tools"], queryFn: () => answer(api.GET("/api/tools", { params: { query: { brief: "true" } } })), staleTime: 30_000, structuralSharing: false });

// Tools lists every tool. Its links are plain ones: to make one of the router for each row that comes into
// view takes longer than the rest of the row.
export function Tools() {
  const t = useTexts();
  const go = useNavigate();
  const follow = (e: React.MouseEvent<HTMLAnchorElement>) => {
    if (e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    e.preventDefault();
    go({ to: e.currentTarget.pathname.replace(/^\/console/, "") });
  };
  const columns: ColumnDef<Schemas["Tool"]>[] = [
    { id: "name", header: t.name, accessorKey: "name", cell: ({ row: { original: x } }) => <a className="mono" href={`/console/tools/${encodeURIComponent(x.name)}`} onClick={follow}>{x.name}</a> },
    { id: "state", header: t.state, accessorFn: (x) => (x.disabled ? t.off : ""), cell: ({ row: { original: x } }) => x.disabled && <Badge kind="warn">{t.off}</Badge> },
    { id: "description", header: t.description, accessorKey: "description", meta: "hide" },
    { id: "risk", header: t.risk, accessorKey: "risk", cell: ({ row }) => <Risk of={row.original.risk} /> },
    { id: "groups", header: t.groups, accessorFn: (x) => x.groups?.join(", ") ?? "", meta: "hide" },
    { id: "tokens", header: t.tokens, accessorKey: "tokens", meta: "number" },
    { id: "source", header: t.source, accessorFn: (x) => x.source ?? "", meta: "hide" },
  ];
  return (
    <Page title={t.tools}>
      <Card><Loaded query={useTools()}>{(tools) => <Rows rows={tools ?? []} columns={columns} label={t.tools} />}</Loaded></Card>
    </Page>
  );
}

// Tool shows one, and what would become of a call.
export function Tool() {
  const t = useTexts();
  const { name } = useParams({ strict: false }) as { name: string };
  const found = useQuery({ queryKey: ["tools", name], queryFn: () => answer(api.GET("/api/tools", { params: { query: { name } } })) });
  return (
    <Page title={name} aside={<Link to="/tools">{t.back}</Link>}>
      <Loaded query={found}>
        {(tools) => {
          const x = tools?.[0];
          if (!x) return <p className="soft">{t.nothing}</p>;
          return (
            <>
              <Card>
                <p>{x.description}</p>
                <Switch tool={x} />
                {Object.entries(x.translations ?? {}).map(([language, text]) => <p key={language} lang={language}>{text}</p>)}
                <p className="row"><Risk of={x.risk} /> {x.groups?.map((g) => <Badge key={g} kind="soft">{g}</Badge>)} <span className="soft">{x.tokens} {t.tokens.toLowerCase()} · {x.source} {x.version}</span></p>
                {(x.examples?.length ?? 0) > 0 && <><h2>{t.examples}</h2><ul>{x.examples?.map((e) => <li key={e}>{e}</li>)}</ul></>}
              </Card>
              <Card title={t.parameters}><pre tabIndex={0}>{JSON.stringify(x.parameters, null, 2)}</pre></Card>
              <Use tool={x} />
              <Judge tool={x} />
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

// Switch disables a tool or a group of it in the configuration, or enables it, and waits until that is in effect.
function Switch({ tool }: { tool: Schemas["Tool"] }) {
  const t = useTexts();
  const client = useQueryClient();
  const file = useQuery({ queryKey: ["configuration"], queryFn: () => answer(api.GET("/admin/configuration")), refetchOnWindowFocus: false });
  const off = tool.disabled ?? [];
  const change = useMutation({
    mutationFn: async (act: (base: string) => Promise<Schemas["ConsoleText"]>) => {
      client.setQueryData(["configuration"], await act(file.data!.base));
      for (let tries = 0; tries < 20; tries++) {
        const [now] = (await answer(api.GET("/api/tools", { params: { query: { name: tool.name } } }))) ?? [];
        if (now?.disabled?.join() !== tool.disabled?.join()) return "";
        await new Promise((later) => setTimeout(later, 150));
      }
      return (await answer(api.GET("/api/status"))).configuration?.error ?? "";
    },
    onSettled: () => client.invalidateQueries({ queryKey: ["tools"] }),
  });
  const base = file.data?.base; // owners alone get it
  const button = (name: string, change_: "enable" | "disable") => {
    const group = name.startsWith("group:") ? name.slice(6) : "";
    return (
      <button
        key={name}
        disabled={change.isPending}
        onClick={() => (!group || change_ === "enable" || confirm(`${t.groupSure} ${group}`)) && change.mutate((base) => answer(api.POST("/admin/tools/{name}/{change}", { params: { path: { name, change: change_ } }, body: { base } })))}
      >
        {t[change_]}{group && ` ${t.theGroup} ${group}`}
      </button>
    );
  };
  return (
    <>
      {off.length > 0 && <p><Badge kind="warn">{t.off}</Badge> {t.nobodyUses} <code>tools.disabled: {off.join(", ")}</code></p>}
      {base && (
        <p className="row">
          {off.map((name) => button(name, "enable"))}
          {off.length === 0 && [tool.name, ...(tool.groups ?? []).map((g) => "group:" + g)].map((name) => button(name, "disable"))}
          {change.isSuccess && (
            <span role="status" className="row">
              <span className={change.data ? "bad" : "good"}>{change.data ? `${t.notInEffect} ${change.data}` : t.inEffect}</span>
              {!!file.data?.undo && <button disabled={change.isPending} onClick={() => change.mutate((base) => answer(api.POST("/admin/configuration/undo", { body: { text: "", base } })))}>{t.undo}</button>}
            </span>
          )}
        </p>
      )}
      {change.error && <Failure error={change.error} again={() => { change.reset(); void file.refetch(); void client.invalidateQueries({ queryKey: ["tools"] }); }} />}
    </>
  );
}

// Use shows how often a tool was called, how that went, and how long it took.
function Use({ tool }: { tool: Schemas["Tool"] }) {
  const t = useTexts();
  const asked = useQuery({ queryKey: ["use", tool.name], queryFn: () => answer(api.GET("/admin/audit", { params: { query: { tool: tool.name, limit: "1000" } } })) });
  const calls = useQuery({ queryKey: ["calls"], queryFn: () => answer(api.GET("/admin/calls", { params: { query: { limit: "1000" } } })) });
  const kept = (calls.data ?? []).filter((c) => c.tool === tool.name || (!c.tool && c.skill === tool.name));
  // Those of etui's own tools are in the memory of the process only.
  const own = kept.length ? kept : (tool.calls ?? []).map((c) => ({ ...c, outcome: c.failed ? "failed" : "ok" }));
  const took = own.map((c) => c.took_ms).sort((x, y) => x - y);
  const failed = own.filter((c) => c.outcome !== "ok").length;
  return (
    <Card title={t.useOver}>
      <Loaded query={asked}>
        {(list) => <Chart {...overTime((list ?? []).filter((d) => d.tool === tool.name).map((d) => ({ time: d.time, kind: d.allowed ? t.allowed : t.refused })))} label={t.useOver} />}
      </Loaded>
      {own.length > 0 && (
        <>
          {!kept.length && <p className="soft">{t.callsSince}</p>}
          <div className="figures">
            <Figure value={own.length} label={t.calls} />
            <Figure value={failed} label={t.failures} />
            <Figure value={`${took[Math.floor(took.length / 2)]} ms`} label={t.median} />
            <Figure value={`${took[Math.floor((took.length - 1) * 0.95)]} ms`} label={t.slowest} />
          </div>
          <Chart {...overTime(own.map((c) => ({ time: c.time, kind: c.outcome })))} label={t.outcomes} />
          <h2>{t.latencyOver}</h2>
          <Chart lines sums={false} {...mediansOverTime(own.map((c) => ({ time: c.time, n: c.took_ms })), `${t.median}, ms`)} label={t.latencyOver} />
        </>
      )}
    </Card>
  );
}

type Schema = { type?: string; enum?: unknown[]; description?: string; default?: unknown };

// Judge asks what would become of a call, with a field for each parameter, and makes it if somebody
// wants: by the same rules, and in the audit.
function Judge({ tool }: { tool: Schemas["Tool"] }) {
  const t = useTexts();
  const schema = tool.parameters as { properties?: Record<string, Schema>; required?: string[] };
  const [values, setValues] = useState<Record<string, string>>({});
  const [as, setAs] = useState("");
  const args = () => {
    const made: Record<string, unknown> = {};
    for (const [name, text] of Object.entries(values)) if (text !== "") made[name] = read(text, schema.properties?.[name]);
    return made;
  };
  const judged = useMutation({
    mutationFn: () => answer(api.POST("/api/tools/{name}/judge", { params: { path: { name: tool.name } }, body: { as: as || undefined, arguments: args() } as Schemas["CallRequest"] })),
  });
  const called = useMutation({ mutationFn: () => answer(api.POST("/api/tools/{name}", { params: { path: { name: tool.name } }, body: { as: as || undefined, arguments: args() } as Schemas["CallRequest"] })) });
  return (
    <form className="card" onSubmit={(e) => { e.preventDefault(); judged.mutate(); }}>
      <h2>{t.tryIt}</h2>
      <div className="fields">
        <div><label htmlFor="as">{t.user}</label><input id="as" value={as} onChange={(e) => setAs(e.target.value)} /></div>
        {Object.entries(schema.properties ?? {}).map(([name, s]) => (
          <div key={name}>
            <label htmlFor={"p-" + name} title={s.description}>{name}{schema.required?.includes(name) ? " *" : ""}</label>
            {s.enum ? (
              <select id={"p-" + name} value={values[name] ?? ""} onChange={(e) => setValues({ ...values, [name]: e.target.value })}>
                <option value="">–</option>
                {s.enum.map((v) => <option key={String(v)}>{String(v)}</option>)}
              </select>
            ) : (
              <input id={"p-" + name} value={values[name] ?? ""} onChange={(e) => setValues({ ...values, [name]: e.target.value })} />
            )}
          </div>
        ))}
      </div>
      <p className="row">
        <button className="first" disabled={judged.isPending}>{t.judge}</button>
        <button type="button" disabled={called.isPending} onClick={() => confirm(t.callSure) && called.mutate()}>{t.callNow}</button>
        <span className="soft">{t.callHow}</span>
      </p>
      {called.error && <Failure error={called.error} />}
      {called.data && <Result reply={called.data} />}
      {judged.error && <Failure error={judged.error} />}
      {judged.data && (
        <p role="status">
          <Badge kind={judged.data.effect === "allow" ? "good" : judged.data.effect === "deny" ? "bad" : "warn"}>{t.effects[judged.data.effect] ?? judged.data.effect}</Badge> {judged.data.reason}
          {judged.data.rule && <> · {t.rule} <b>{judged.data.rule}</b></>} <span className="soft">{t.stages[judged.data.stage ?? ""] ?? judged.data.stage}</span>
        </p>
      )}
    </form>
  );
}

// Result shows what a call gave, or that it waits for somebody.
function Result({ reply }: { reply: Schemas["CallReply"] }) {
  const t = useTexts();
  return (
    <div role="status">
      <p><Badge kind={reply.failed ? "bad" : reply.question ? "warn" : "good"}>{reply.failed ? t.error : reply.question ? t.waiting : t.done}</Badge></p>
      <pre tabIndex={0}>{reply.text || JSON.stringify(reply.question ?? reply.view, null, 2)}</pre>
    </div>
  );
}

// read makes of a field's text a value of the parameter's type. What cannot be read goes as a text,
// and the gateway says what is wrong with it.
function read(text: string, s?: Schema): unknown {
  if (s?.type === "string" || !s?.type) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
