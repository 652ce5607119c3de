import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { answer, api, type Schemas } from "../api";
import { Act, Badge, Card, Figure, Loaded, Names, Page, Rows, useTime } from "../parts";
import { useTexts, useWord } from "../texts";
import { First } from "./first";
import { Waiting } from "./waiting";

// shown is how many of the latest turns the page has, and of the messages that wait.
const shown = 20;

// Latest shows the latest turns: whose, with which tools, and what they took.
function Latest({ every }: { every: number }) {
  const t = useTexts();
  const time = useTime();
  const found = useQuery({ queryKey: ["turns", shown], queryFn: () => answer(api.GET("/admin/turns", { params: { query: { limit: String(shown) } } })), refetchInterval: every });
  return (
    <Card title={t.live_}>
      <Loaded query={found}>
        {(list) => (
          <Rows rows={list ?? []} label={t.live_} filter={false} columns={[
            { id: "text", header: t.message, accessorKey: "text", cell: ({ row: { original: x } }) => <Link to={`/sessions/${encodeURIComponent(x.session)}`}>{x.text.slice(0, 60)}</Link> },
            { id: "user", header: t.user, accessorFn: (x) => x.user ?? "", meta: "hide" },
            { id: "channel", header: t.channel, accessorFn: (x) => x.channel ?? "", meta: "hide" },
            { id: "agent", header: t.agent, accessorKey: "agent", meta: "hide" },
            { id: "tools", header: t.tools, accessorFn: (x) => x.calls?.map((c) => c.tool).join(", ") ?? "", meta: "whole hide", cell: ({ row }) => <Names of={row.original.calls?.map((c) => c.tool) ?? []} /> },
            { id: "tokens", header: t.tokensInOut, accessorFn: (x) => x.input ?? 0, meta: "number", cell: ({ row: { original: x } }) => (x.requests ? `${x.input ?? 0} / ${x.output ?? 0}` : "–") },
            { id: "took", header: t.latency, accessorFn: (x) => x.took_ms ?? 0, meta: "number", cell: ({ row: { original: x } }) => (x.took_ms ? `${(x.took_ms / 1000).toFixed(1)} s` : "–") },
            { id: "time", header: t.time, accessorKey: "time", meta: "when hide", cell: ({ row }) => time(row.original.time) },
          ]} />
        )}
      </Loaded>
    </Card>
  );
}

// Running shows the turns that run: what those in the process that answers did so far, and of others which process
// has them, which alone knows their tools and tokens. Each has a stop.
function Running({ turns: here, others }: { turns: Schemas["LiveTurn"][]; others: Schemas["InboxItem"][] }) {
  const t = useTexts();
  const time = useTime();
  const turns = [...here.map((x) => ({ ...x, process: "" })), ...others.map((i) => ({ item: i.id, session: i.session, agent: i.agent ?? "", user: i.user, channel: i.channel, began: i.accepted, process: i.process ?? "", calls: 0, tools: [] as string[], running: "", input: 0, output: 0 }))];
  if (!turns.length) return null;
  return (
    <Card title={<>{t.running} ({turns.length})</>}>
      <Rows rows={turns} label={t.running} filter={false} columns={[
        { id: "user", header: t.user, accessorFn: (x) => x.user ?? "", cell: ({ row: { original: x } }) => (x.item ? <Link to={`/sessions/${encodeURIComponent(x.session)}`}>{x.user || x.session}</Link> : x.user || x.session) },
        { id: "channel", header: t.channel, accessorFn: (x) => x.channel ?? "", meta: "hide" },
        { id: "agent", header: t.agent, accessorKey: "agent", meta: "hide" },
        { id: "tools", header: t.tools, accessorKey: "calls", meta: "whole", cell: ({ row: { original: x } }) => (
          x.process ? <span className="soft">{t.elsewhere} {x.process}. {t.onlyThere}</span> : <>{x.calls > (x.tools?.length ?? 0) && "… "}{x.tools?.map((name, i, all) => <span key={i}>{i > 0 && ", "}{name === x.running && i === all.lastIndexOf(name) ? <Badge kind="good">{name}</Badge> : <Names of={[name]} />}</span>)}</>
        ) },
        { id: "tokens", header: t.tokensInOut, accessorKey: "input", meta: "number", cell: ({ row: { original: x } }) => (x.process ? "–" : `${x.input} / ${x.output}`) },
        { id: "began", header: t.time, accessorKey: "began", meta: "when hide", cell: ({ row }) => time(row.original.began) },
        { id: "stop", header: "", enableSorting: false, cell: ({ row: { original: x } }) => x.item ? <Act label={t.stop} act={() => answer(api.POST("/admin/sessions/{key}/stop", { params: { path: { key: x.session } }, body: {} }))} /> : null },
      ]} />
    </Card>
  );
}

// Servers shows whether the servers that bring tools answer.
function Servers() {
  const t = useTexts();
  const word = useWord();
  const found = useQuery({ queryKey: ["skills"], queryFn: () => answer(api.GET("/admin/skills")), refetchInterval: 10_000 });
  const servers = found.data?.skills?.filter((s) => s.server) ?? [];
  if (!servers.length) return null;
  return (
    <Card title={t.servers}>
      {servers.map((s) => {
        const now = s.server as { phase?: string; error?: string; tools?: unknown };
        return <p key={s.name} className="row"><Badge kind={now.error || s.state !== "enabled" ? "bad" : "good"}>{word(s.state === "enabled" ? now.phase : s.state)}</Badge> {s.name} <span className="soft">{now.error ?? s.why}</span></p>;
      })}
    </Card>
  );
}

// Live shows what runs and what waits, and is read again every two seconds.
export function Live() {
  const t = useTexts();
  const word = useWord();
  const time = useTime();
  const every = 2_000;
  const status = useQuery({ queryKey: ["status"], queryFn: () => answer(api.GET("/api/status")), refetchInterval: every });
  const inbox = useQuery({ queryKey: ["inbox"], queryFn: () => answer(api.GET("/admin/inbox")), refetchInterval: every });
  const running = useQuery({ queryKey: ["running"], queryFn: () => answer(api.GET("/admin/running")), refetchInterval: every });
  const sessions = useQuery({ queryKey: ["sessions", "latest"], queryFn: () => answer(api.GET("/admin/sessions", { params: { query: { limit: "12" } } })), refetchInterval: every });
  const channels = useQuery({ queryKey: ["channels"], queryFn: () => answer(api.GET("/admin/channels")), refetchInterval: every });
  const here = new Set(running.data?.map((r) => r.item));
  const all = (inbox.data ?? []).filter((i) => !here.has(i.id));
  // Turns of a session run one after the other: of those that another process has, its first one runs.
  const runs = (i: Schemas["InboxItem"]) => !!i.process && i.state === "waiting" && !all.some((o) => o.session === i.session && o.state === "waiting" && o.id < i.id);
  const others = all.filter(runs), waits = all.filter((i) => !runs(i));
  return (
    <Page title={t.live}>
      <Loaded query={status}>
        {(s) => (
          <>
            <First status={s} channels={channels.data?.channels?.length ?? 0} />
            <div className="card figures">
              <Figure value={s.tools} label={t.tools} />
              <Figure value={s.agents?.length ?? 0} label={t.agents} />
              <Figure value={here.size + others.length} label={t.running} />
              <Figure value={waits.length} label={t.inbox} />
            </div>
            {(s.refused?.length ?? 0) > 0 && <p role="alert" className="card bad">{t.refusing} {s.refused?.map((r) => `${r.cause} (${r.error})`).join(", ")}</p>}
            {s.configuration?.error && <p role="alert" className="card bad">{s.configuration.file}: {s.configuration.error}</p>}
            <div className="grid">
              {s.agents?.map((a) => (
                <Card key={a.name} title={<>{t.agent} {a.name}</>}>
                  <p>
                    {a.active} {t.of} {a.tools} {t.tools.toLowerCase()} {t.active} · {word(a.mode)}
                    {a.skill && <> · {t.skill} {a.skill}</>}
                  </p>
                  <p className="row">
                    {a.models?.map((m) => <Badge key={m.model} kind={m.error ? "bad" : "good"}>{m.model}</Badge>) ?? a.model}
                  </p>
                  {Object.entries(a.cache_breaks).length > 0 && (
                    <p className="soft">{t.cacheBreaks} · {Object.entries(a.cache_breaks).map(([why, n]) => `${t.causes[why] ?? why} ${n}`).join(" · ")}</p>
                  )}
                </Card>
              ))}
              {(channels.data?.channels?.length ?? 0) > 0 && (
                <Card title={t.channels}>
                  {channels.data?.channels?.map((c) => (
                    <p key={c.name} className="row">
                      <Badge kind={c.connected ? "good" : "bad"}>{c.connected ? t.connected : "–"}</Badge> {c.name} <span className="soft">{c.error}</span>
                    </p>
                  ))}
                </Card>
              )}
              <Servers />
              {(s.runs?.length ?? 0) > 0 && (
                <Card title={t.workflows}>
                  {s.runs?.map((r) => <p key={r.session}>{r.flow.workflow} · {r.flow.phase} · <Link to={`/sessions/${encodeURIComponent(r.session)}`}>{r.session}</Link></p>)}
                </Card>
              )}
            </div>
          </>
        )}
      </Loaded>
      <Running turns={running.data ?? []} others={others} />
      <Waiting />
      <Latest every={every} />
      {waits.length > 0 && (
        <Card title={t.inbox}>
          {waits.slice(0, shown).map((i) => (
            <div key={i.id} className="said user">
              <p>{i.text} <span className="soft">{[i.user, i.channel, i.agent, time(i.accepted), i.state === "waiting" && `${Math.max(0, (Date.now() - Date.parse(i.accepted)) / 1000).toFixed(0)} s`, i.process && `${t.elsewhere} ${i.process}`].filter(Boolean).join(" · ")}</span> <Badge kind={i.state === "parked" ? "bad" : "soft"}>{word(i.state)}</Badge> {i.reason}</p>
              <div className="row">
                {i.state === "parked" ? (
                  <>
                    <Act label={t.retry} act={() => answer(api.POST("/admin/inbox/{id}/retry", { params: { path: { id: String(i.id) } }, body: {} }))} />
                    <Act label={t.drop} act={() => answer(api.DELETE("/admin/inbox/{id}", { params: { path: { id: String(i.id) } } }))} />
                  </>
                ) : (
                  <Act label={t.stop} act={() => answer(api.POST("/admin/sessions/{key}/stop", { params: { path: { key: i.session } }, body: {} }))} />
                )}
              </div>
            </div>
          ))}
          {waits.length > shown && <p className="soft">{waits.length - shown} {t.more.toLowerCase()}</p>}
        </Card>
      )}
      <Card title={t.conversations}>
        <Loaded query={sessions}>
          {(page) => page.sessions?.length ? (
            <ul className="plain">
              {page.sessions.map((s) => (
                <li key={s.key}>
                  <Link to={`/sessions/${encodeURIComponent(s.key)}`}>{s.title || s.key}</Link>{" "}
                  <span className="soft">{[s.users?.join(", "), s.channels?.join(", "), `${s.messages} ${t.messages.toLowerCase()}`, time(s.updated)].filter(Boolean).join(" · ")}</span>
                </li>
              ))}
            </ul>
          ) : <p className="soft">{t.nothing}</p>}
        </Loaded>
      </Card>
    </Page>
  );
}
