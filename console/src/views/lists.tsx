import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../api";
import { Act, Badge, Card, Failure, Loaded, Page, Names, Risk, Rows, useTime } from "../parts";
import { useTexts } from "../texts";
import { Waiting } from "./waiting";

export function Approvals() {
  return <Page title={useTexts().approvals}><Waiting always /></Page>;
}

export function Schedule() {
  const t = useTexts();
  const time = useTime();
  const found = useQuery({ queryKey: ["tasks"], queryFn: () => answer(api.GET("/admin/tasks")) });
  const change = (id: string, change: string) => answer(api.POST("/admin/tasks/{id}/{change}", { params: { path: { id, change } }, body: {} }));
  return (
    <Page title={t.schedule}>
      <Card>
        <Loaded query={found}>
          {(tasks) => (
            <Rows rows={tasks ?? []} label={t.schedule} columns={[
              { id: "text", header: t.text, accessorKey: "text" },
              { id: "when", header: t.when, accessorKey: "when", cell: ({ row }) => <code>{row.original.when}</code> },
              { id: "user", header: t.user, accessorFn: (x) => x.user ?? "", meta: "hide" },
              { id: "next", header: t.next, accessorFn: (x) => x.next ?? "", meta: "when", cell: ({ row }) => (row.original.paused ? "–" : time(row.original.next)) },
              {
                id: "act", header: "", enableSorting: false,
                cell: ({ row: { original: x } }) => (
                  <span className="row">
                    <Act label={x.paused ? t.resume : t.pause} act={() => change(x.id, x.paused ? "resume" : "pause")} />
                    <Act label={t.run} act={() => change(x.id, "run")} />
                    <Act label={t.delete} ask={x.text} act={() => answer(api.DELETE("/admin/tasks/{id}", { params: { path: { id: x.id } } }))} />
                  </span>
                ),
              },
            ]} />
          )}
        </Loaded>
      </Card>
    </Page>
  );
}

export function Channels() {
  const t = useTexts();
  const time = useTime();
  const found = useQuery({ queryKey: ["channels"], queryFn: () => answer(api.GET("/admin/channels")), refetchInterval: 3_000 });
  return (
    <Page title={t.channels}>
      <Loaded query={found}>
        {(s) => (
          <>
            <Card>
              <Rows rows={s.channels ?? []} label={t.channels} columns={[
                { id: "name", header: t.name, accessorKey: "name" },
                { id: "state", header: t.state, accessorFn: (c) => String(c.connected), cell: ({ row: { original: c } }) => <><Badge kind={c.connected ? "good" : "bad"}>{c.connected ? t.connected : "–"}</Badge> {c.error}</> },
                { id: "received", header: t.received, accessorKey: "received", meta: "number" },
                { id: "sent", header: t.sent, accessorKey: "sent", meta: "number" },
                { id: "waiting", header: t.inbox, accessorKey: "waiting", meta: "number hide" },
                { id: "since", header: t.time, accessorFn: (c) => c.since ?? "", meta: "when hide", cell: ({ row }) => time(row.original.since) },
              ]} />
            </Card>
            {[...(s.waiting ?? []), ...(s.paired ?? [])].length > 0 && (
              <Card title={t.paired}>
                {s.waiting?.map((p) => (
                  <p key={p.code} className="row"><b>{p.channel}</b> {p.user} <span className="mono">{p.code}</span>
                    <Act first label={t.approve} act={() => answer(api.POST("/admin/channels/pair", { body: { code: p.code ?? "" } }))} />
                  </p>
                ))}
                {s.paired?.map((p) => (
                  <p key={p.channel + p.user} className="row"><b>{p.channel}</b> {p.user}
                    <Act label={t.revoke} act={() => answer(api.DELETE("/admin/channels/{name}/people/{user}", { params: { path: { name: p.channel, user: p.user } } }))} />
                  </p>
                ))}
              </Card>
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}

export function Keys() {
  const t = useTexts();
  const time = useTime();
  const found = useQuery({ queryKey: ["keys"], queryFn: () => answer(api.GET("/admin/keys")) });
  const [name, setName] = useState("");
  const [user, setUser] = useState("");
  const added = useMutation({ mutationFn: () => answer(api.POST("/admin/keys", { body: { name, user: user || undefined, operator: !user } })), onSuccess: () => found.refetch() });
  return (
    <Page title={t.keys}>
      <form className="card" onSubmit={(e) => { e.preventDefault(); added.mutate(); }}>
        <div className="fields">
          <div><label htmlFor="key-name">{t.name}</label><input id="key-name" value={name} onChange={(e) => setName(e.target.value)} required /></div>
          <div><label htmlFor="key-user">{t.forWhom}</label><input id="key-user" value={user} onChange={(e) => setUser(e.target.value)} /></div>
        </div>
        <p><button className="first">{t.addKey}</button></p>
        {added.error && <Failure error={added.error} />}
        {added.data && <p role="status">{t.shownOnce} <code>{added.data.key}</code></p>}
      </form>
      <Card>
        <Loaded query={found}>
          {(keys) => (
            <Rows rows={keys ?? []} label={t.keys} columns={[
              { id: "name", header: t.name, accessorKey: "name" },
              { id: "user", header: t.user, accessorFn: (k) => k.user ?? (k.operator ? t.operator : "") },
              { id: "created", header: t.created, accessorKey: "created", meta: "when", cell: ({ row }) => time(row.original.created) },
              { id: "problem", header: t.error, accessorFn: (k) => k.problem ?? "", meta: "hide" },
              { id: "act", header: "", enableSorting: false, cell: ({ row: { original: k } }) => <Act label={t.revoke} ask={k.name} act={() => answer(api.DELETE("/admin/keys/{name}", { params: { path: { name: k.name } } }))} /> },
            ]} />
          )}
        </Loaded>
      </Card>
    </Page>
  );
}

export function Audit() {
  const t = useTexts();
  const time = useTime();
  const [denied, setDenied] = useState(false);
  const found = useQuery({ queryKey: ["audit", denied], queryFn: () => answer(api.GET("/admin/audit", { params: { query: { limit: "500", denied: denied ? "true" : undefined } } })) });
  const chain = useQuery({ queryKey: ["audit", "chain"], queryFn: () => answer(api.GET("/admin/audit/verify")) });
  return (
    <Page title={t.audit} aside={<label className="row"><input type="checkbox" checked={denied} onChange={(e) => setDenied(e.target.checked)} />{t.refused}</label>}>
      <Card title={t.chain}>
        <Loaded query={chain}>
          {(v) => <p><Badge kind={v.unbroken ? "good" : "bad"}>{v.unbroken ? t.unbroken : t.brokenChain}</Badge> {v.records} {t.records} <span className="mono soft">{v.head}</span></p>}
        </Loaded>
      </Card>
      <Card>
        <Loaded query={found}>
          {(list) => (
            <Rows rows={list ?? []} label={t.audit} columns={[
              { id: "time", header: t.time, accessorKey: "time", meta: "when", cell: ({ row }) => time(row.original.time) },
              { id: "tool", header: t.tool, accessorFn: (d) => d.tool ?? d.kind, meta: "whole", cell: ({ row: { original: d } }) => <Names of={[d.tool ?? d.kind]} /> },
              { id: "allowed", header: t.state, accessorFn: (d) => String(d.allowed), cell: ({ row: { original: d } }) => <Badge kind={d.allowed ? "good" : "bad"}>{d.allowed ? t.allowed : t.refused}</Badge> },
              { id: "user", header: t.user, accessorFn: (d) => d.user ?? "" },
              { id: "risk", header: t.risk, accessorFn: (d) => d.risk ?? "", meta: "hide", cell: ({ row }) => <Risk of={row.original.risk} /> },
              { id: "reason", header: t.reason, accessorFn: (d) => [d.rule, d.reason].filter(Boolean).join(": "), meta: "hide" },
            ]} />
          )}
        </Loaded>
      </Card>
    </Page>
  );
}
