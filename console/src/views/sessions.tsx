import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { answer, api, type Schemas } from "../api";
import { Act, Badge, Card, Failure, Loaded, Page, useTime } from "../parts";
import { useTexts, useWord } from "../texts";
import { asMarkdown, whole } from "./export";
import { download, Files } from "./files";
import { Text } from "./markdown";
import { straight } from "./straight";
import { Tree } from "./tree";
import { savedTokens, Why } from "./why";
import { Phases, RunLine } from "./workflows";

// Sessions lists the conversations, newest first, as many pages as somebody asks for.
export function Sessions() {
  const t = useTexts();
  const time = useTime();
  const [part, setPart] = useState("");
  const found = useInfiniteQuery({
    queryKey: ["sessions", "list", part],
    queryFn: ({ pageParam }) => answer(api.GET("/admin/sessions", { params: { query: { part: part || undefined, after: pageParam || undefined, limit: "50" } } })),
    initialPageParam: "",
    getNextPageParam: (page) => page.next || undefined,
  });
  return (
    <Page title={t.sessions}>
      <div className="card">
        <label htmlFor="part">{t.search}</label>
        <input id="part" type="search" value={part} onChange={(e) => setPart(e.target.value)} />
      </div>
      <Card>
        {found.error && <Failure error={found.error} />}
        {found.data && !found.data.pages[0].sessions?.length && <p className="soft">{t.nothing}</p>}
        <div className="scroll" tabIndex={0} role="region" aria-label={t.sessions} hidden={!found.data?.pages[0].sessions?.length}>
          <table>
            <thead><tr><th scope="col">{t.title}</th><th scope="col" className="hide">{t.user}</th><th scope="col" className="hide">{t.channel}</th><th scope="col" className="number">{t.messages}</th><th scope="col">{t.updated}</th></tr></thead>
            <tbody>
              {found.data?.pages.flatMap((p) => p.sessions ?? []).map((s) => (
                <tr key={s.key}>
                  <td><Link to={`/sessions/${encodeURIComponent(s.key)}`}>{s.title || s.key}</Link></td>
                  <td className="hide">{s.users?.join(", ")}</td>
                  <td className="hide">{s.channels?.join(", ")}</td>
                  <td className="number">{s.messages}</td>
                  <td className="when">{time(s.updated)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {found.hasNextPage && <p><button onClick={() => found.fetchNextPage()}>{t.more}</button></p>}
      </Card>
    </Page>
  );
}

// Session shows one conversation: its messages, calls and results, and why each message got its tools.
export function Session() {
  const t = useTexts();
  const go = useNavigate();
  const { key } = useParams({ strict: false }) as { key: string };
  const path = { key };
  const found = useQuery({ queryKey: ["session-of", key], queryFn: () => answer(api.GET("/admin/sessions/{key}", { params: { path } })), refetchInterval: 3_000 });
  const status = useQuery({ queryKey: ["status"], queryFn: () => answer(api.GET("/api/status")), refetchInterval: 3_000 });
  const run = status.data?.runs?.find((r) => r.session === key);
  const workflows = useQuery({ queryKey: ["workflows"], enabled: !!run, queryFn: () => answer(api.GET("/api/workflows")) });
  const flow = workflows.data?.workflows?.find((w) => w.name === run?.flow.workflow);
  return (
    <Page
      title={found.data?.title || key}
      aside={
        <>
          <Link to="/sessions">{t.back}</Link>
          <Act label="JSON ↓" act={async () => download(`${key}.json`, [JSON.stringify(await whole(key), null, 2)], "application/json")} />
          <Act label="Markdown ↓" act={async () => download(`${key}.md`, [asMarkdown(await whole(key))], "text/markdown")} />
          <Act label={t.stop} act={() => answer(api.POST("/admin/sessions/{key}/stop", { params: { path }, body: {} }))} />
          <Act label={t.delete} ask={t.sure} act={async () => { await answer(api.DELETE("/admin/sessions/{key}", { params: { path } })); go({ to: "/sessions" }); }} />
        </>
      }
    >
      <Loaded query={found}>
        {(c) => (
          <>
            <p className="soft mono">{c.key}{c.parent && <> · ↑ <Link to={`/sessions/${encodeURIComponent(c.parent)}`}>{c.parent}</Link></>}</p>
            <Tree of={c} />
            {run && flow && <Card title={t.flows}><Phases workflow={flow} runs={[run]} /><RunLine run={run} here /></Card>}
            <GivenUp session={key} />
            {c.summary && <Card title={t.remembered}><Text text={c.summary} /></Card>}
            <Card>{c.said?.map((m, i) => <Said key={i} message={m} spent={spentOn(c.said ?? [], i)} />)}</Card>
          </>
        )}
      </Loaded>
    </Page>
  );
}

// GivenUp shows messages of a conversation whose turn was given up, to resume or drop them.
function GivenUp({ session }: { session: string }) {
  const t = useTexts();
  const found = useQuery({ queryKey: ["inbox"], queryFn: () => answer(api.GET("/admin/inbox")) });
  const parked = found.data?.filter((i) => i.session === session && i.state === "parked") ?? [];
  if (!parked.length) return null;
  return (
    <Card title={t.givenUp}>
      {parked.map((i) => (
        <div key={i.id} className="said user">
          <p>{i.text} <span className="bad">{i.reason}</span></p>
          <div className="row">
            <Act label={t.resume} first act={() => answer(api.POST("/admin/inbox/{id}/retry", { params: { path: { id: String(i.id) } }, body: {} }))} />
            <Act label={t.drop} act={() => answer(api.DELETE("/admin/inbox/{id}", { params: { path: { id: String(i.id) } } }))} />
          </div>
        </div>
      ))}
    </Card>
  );
}

// spentOn returns what the answers to a message took.
function spentOn(said: Schemas["ChatMessage"][], at: number) {
  const list: Schemas["ChatExpense"][] = [];
  for (let i = at + 1; said[at].why && i < said.length && !said[i].why; i++) if (said[i].spent) list.push(said[i].spent!);
  return list;
}

function Said({ message: m, spent }: { message: Schemas["ChatMessage"]; spent: Schemas["ChatExpense"][] }) {
  const t = useTexts();
  const time = useTime();
  const word = useWord();
  const [open, setOpen] = useState(false);
  const why = m.why as Schemas["SelectionCompact"] | undefined | null;
  const files = [...(m.files ?? []), ...(m.result?.view?.files ?? [])];
  return (
    <div className={"said " + m.role}>
      <p className="soft">{[word(m.role), m.user, m.channel, time(m.time)].filter(Boolean).join(" · ")} {m.refused && <Badge kind="bad">{t.refused}</Badge>}</p>
      {m.text && <Text text={m.text} />}
      {m.note && <p className="soft">{m.note}</p>}
      {m.calls?.map((c) => (
        <details key={c.id}>
          <summary><b className="mono">{c.name}</b></summary>
          <pre>{straight(typeof c.arguments === "string" ? c.arguments : JSON.stringify(c.arguments, null, 2))}</pre>
        </details>
      ))}
      {m.result && (
        <details>
          <summary>{m.result.failed ? <Badge kind="bad">{t.error}</Badge> : "→"} {straight((m.result.text ?? "").slice(0, 120))}</summary>
          <pre>{straight(m.result.text ?? "")}</pre>
          {m.result.session && <p>{t.subAgents}: <Link to={`/sessions/${encodeURIComponent(m.result.session)}`}>{m.result.session}</Link></p>}
        </details>
      )}
      {files.length > 0 && <Files files={files} />}
      {why && (
        <details onToggle={(e) => setOpen(e.currentTarget.open)}>
          <summary className="soft">{t.why} {savedTokens(why).toLocaleString()} {t.tokensLess}</summary>
          {open && <Why compact={why} spent={spent} />}
        </details>
      )}
    </div>
  );
}
