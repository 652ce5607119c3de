import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { answer, api } from "../api";
import { Act, Badge, Card, Figure, Loaded, Page, useTime } from "../parts";
import { useTexts } from "../texts";
import { First } from "./first";
import { Waiting } from "./waiting";

// Live shows what runs and what waits, and is read again every two seconds.
export function Live() {
  const t = useTexts();
  const time = useTime();
  const every = 2_000;
  const status = useQuery({ queryKey: ["status"], queryFn: () => answer(api.GET("/api/status")), refetchInterval: every });
  const inbox = useQuery({ queryKey: ["inbox"], queryFn: () => answer(api.GET("/admin/inbox")), refetchInterval: every });
  const sessions = useQuery({ queryKey: ["sessions", "latest"], queryFn: () => answer(api.GET("/admin/sessions", { params: { query: { limit: "12" } } })), refetchInterval: every });
  const channels = useQuery({ queryKey: ["channels"], queryFn: () => answer(api.GET("/admin/channels")), refetchInterval: every });
  return (
    <Page title={t.live}>
      <Loaded query={status}>
        {(s) => (
          <>
            <First status={s} channels={channels.data?.channels?.length ?? 0} />
            <div className="card figures">
              <Figure value={s.tools} label={t.tools} />
              <Figure value={s.agents?.length ?? 0} label={t.agents} />
              <Figure value={inbox.data?.length ?? 0} label={t.inbox} />
              <Figure value={sessions.data?.sessions?.length ?? 0} label={t.recent} />
            </div>
            {s.configuration?.error && <p role="alert" className="card bad">{s.configuration.file}: {s.configuration.error}</p>}
            <div className="grid">
              {s.agents?.map((a) => (
                <Card key={a.name} title={<>{t.agent} {a.name}</>}>
                  <p>
                    {a.active} {t.of} {a.tools} {t.tools.toLowerCase()} {t.active} · {a.mode}
                    {a.skill && <> · {t.skill} {a.skill}</>}
                  </p>
                  <p className="row">
                    {a.models?.map((m) => <Badge key={m.model} kind={m.error ? "bad" : "good"}>{m.model}</Badge>) ?? a.model}
                  </p>
                  {Object.entries(a.cache_breaks).length > 0 && (
                    <p className="soft">{t.cacheBreaks}: {Object.entries(a.cache_breaks).map(([why, n]) => `${why} ${n}`).join(", ")}</p>
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
              {(s.runs?.length ?? 0) > 0 && (
                <Card title={t.workflows}>
                  {s.runs?.map((r) => <p key={r.session}>{r.flow.workflow} · {r.flow.phase} · <Link to={`/sessions/${encodeURIComponent(r.session)}`}>{r.session}</Link></p>)}
                </Card>
              )}
            </div>
          </>
        )}
      </Loaded>
      <Waiting />
      {(inbox.data?.length ?? 0) > 0 && (
        <Card title={t.inbox}>
          {inbox.data?.map((i) => (
            <div key={i.id} className="said user">
              <p>{i.text} <span className="soft">{i.user} · {time(i.accepted)}</span> <Badge kind={i.state === "parked" ? "bad" : "soft"}>{i.state}</Badge> {i.reason}</p>
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
        </Card>
      )}
      <Card title={t.recent}>
        <Loaded query={sessions}>
          {(page) => page.sessions?.length ? (
            <ul>
              {page.sessions.map((s) => (
                <li key={s.key}>
                  <Link to={`/sessions/${encodeURIComponent(s.key)}`}>{s.title || s.key}</Link>{" "}
                  <span className="soft">{s.users?.join(", ")} · {s.channels?.join(", ")} · {s.messages} · {time(s.updated)}</span>
                </li>
              ))}
            </ul>
          ) : <p className="soft">{t.nothing}</p>}
        </Loaded>
      </Card>
    </Page>
  );
}
