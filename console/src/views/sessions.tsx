import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { answer, api, type Schemas } from "../api";
import { Act, Badge, Card, Failure, Loaded, Page, useTime } from "../parts";
import { useTexts } from "../texts";
import { Text } from "./markdown";

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
        <div className="scroll" tabIndex={0} role="region" aria-label={t.sessions}>
          <table>
            <thead><tr><th scope="col">{t.title}</th><th scope="col" className="hide">{t.user}</th><th scope="col" className="hide">{t.channel}</th><th scope="col" className="number">{t.messages}</th><th scope="col">{t.updated}</th></tr></thead>
            <tbody>
              {found.data?.pages.flatMap((p) => p.sessions ?? []).map((s) => (
                <tr key={s.key}>
                  <td><Link to={`/sessions/${encodeURIComponent(s.key)}`}>{s.title || s.key}</Link></td>
                  <td className="hide">{s.users?.join(", ")}</td>
                  <td className="hide">{s.channels?.join(", ")}</td>
                  <td className="number">{s.messages}</td>
                  <td>{time(s.updated)}</td>
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
  return (
    <Page
      title={found.data?.title || key}
      aside={
        <>
          <Link to="/sessions">{t.back}</Link>
          <Act label={t.stop} act={() => answer(api.POST("/admin/sessions/{key}/stop", { params: { path }, body: {} }))} />
          <Act label={t.delete} ask={t.sure} act={async () => { await answer(api.DELETE("/admin/sessions/{key}", { params: { path } })); go({ to: "/sessions" }); }} />
        </>
      }
    >
      <Loaded query={found}>
        {(c) => (
          <>
            <p className="soft mono">{c.key}{c.parent && <> · ↑ <Link to={`/sessions/${encodeURIComponent(c.parent)}`}>{c.parent}</Link></>}</p>
            {c.summary && <Card title={t.remembered}><Text text={c.summary} /></Card>}
            <Card>{c.said?.map((m, i) => <Said key={i} message={m} />)}</Card>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Said({ message: m }: { message: Schemas["ChatMessage"] }) {
  const t = useTexts();
  const time = useTime();
  return (
    <div className={"said " + m.role}>
      <p className="soft">{m.role} {m.user && "· " + m.user} {m.channel && "· " + m.channel} · {time(m.time)} {m.refused && <Badge kind="bad">{t.refused}</Badge>}</p>
      {m.text && <Text text={m.text} />}
      {m.note && <p className="soft">{m.note}</p>}
      {m.calls?.map((c) => (
        <details key={c.id}>
          <summary><b className="mono">{c.name}</b></summary>
          <pre>{typeof c.arguments === "string" ? c.arguments : JSON.stringify(c.arguments, null, 2)}</pre>
        </details>
      ))}
      {m.result && (
        <details>
          <summary>{m.result.failed ? <Badge kind="bad">{t.error}</Badge> : "→"} {(m.result.text ?? "").slice(0, 120)}</summary>
          <pre>{m.result.text}</pre>
        </details>
      )}
      {m.why !== undefined && m.why !== null && <Why compact={m.why as Schemas["SelectionCompact"]} />}
    </div>
  );
}

function Why({ compact: w }: { compact: Schemas["SelectionCompact"] }) {
  const t = useTexts();
  const all = [...(w.declared ?? []), ...(w.announced ?? []), ...(w.named ?? [])];
  return (
    <details>
      <summary className="soft">{t.why} {all.length} {t.of} {w.tools}, {w.tokens_sent} {t.tokens}</summary>
      {w.request && <p>{t.taken}: {w.request}</p>}
      <p className="row">{all.map((s) => <Badge key={s.tool} kind={s.kept ? "soft" : "good"}>{s.tool} {s.score ? s.score.toFixed(1) : ""}</Badge>)}</p>
      {Object.keys(w.dropped ?? {}).length > 0 && <p className="soft">{t.dropped}: {Object.entries(w.dropped ?? {}).map(([stage, n]) => `${stage} ${n}`).join(", ")}</p>}
    </details>
  );
}
