import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { answer, api, type Schemas } from "../api";
import { Act, Card, Failure, Loaded, Page, Rows } from "../parts";
import { useTexts } from "../texts";
import { Text } from "./markdown";

// People lists the people of the configuration, and leads to what is remembered of anybody.
export function People() {
  const t = useTexts();
  const go = useNavigate();
  const [name, setName] = useState("");
  const found = useQuery({ queryKey: ["people"], queryFn: () => answer(api.GET("/admin/people")) });
  return (
    <Page title={t.people}>
      <form className="card" onSubmit={(e) => { e.preventDefault(); go({ to: `/people/${encodeURIComponent(name)}` }); }}>
        <label htmlFor="person">{t.anybody}</label>
        <div className="row"><span><input id="person" value={name} onChange={(e) => setName(e.target.value)} required /></span><button>{t.memory}</button></div>
      </form>
      <Card>
        <Loaded query={found}>
          {(people) => people?.length ? (
            <Rows rows={people} label={t.people} columns={[
              { id: "name", header: t.name, accessorKey: "name", cell: ({ row: { original: p } }) => <Link to={`/people/${encodeURIComponent(p.name)}`}>{p.name}</Link> },
              { id: "roles", header: t.roles, accessorFn: (p) => p.roles?.join(", ") ?? "" },
              { id: "groups", header: t.groups, accessorFn: (p) => p.groups?.join(", ") ?? "", meta: "hide" },
              { id: "identities", header: t.accounts, accessorFn: (p) => p.identities?.join(", ") ?? "", meta: "hide" },
              { id: "attrs", header: t.attributes, accessorFn: (p) => Object.entries(p.attrs ?? {}).map(([k, v]) => `${k}: ${v}`).join(", "), meta: "hide" },
            ]} />
          ) : <p className="soft">{t.noPeople} <Link to="/rules" search={{ example: "people" } as never}>{t.file}</Link></p>}
        </Loaded>
      </Card>
    </Page>
  );
}

type Remembered = { agent: string; owner: string; text: string; shared?: string; notes?: { day: string; text: string }[] | null };
type Found = { from: string; text: string };

// Person shows what an agent remembers in the conversations of somebody, and changes it.
export function Person() {
  const t = useTexts();
  const { name } = useParams({ strict: false }) as { name: string };
  const [agent, setAgent] = useState("");
  const agents = useQuery({ queryKey: ["agents"], queryFn: () => answer(api.GET("/api/agents")) });
  const people = useQuery({ queryKey: ["people"], queryFn: () => answer(api.GET("/admin/people")) });
  // Whom the configuration does not name is known by what clients call them.
  const named = name.includes(":") || people.data?.some((p) => p.name === name);
  const look: Look = { [named ? "as" : "user"]: name, agent: agent || undefined };
  const found = useQuery({ queryKey: ["memory", name, agent, named], enabled: !people.isLoading, queryFn: async () => (await answer(api.POST("/api/memory", { body: look as Schemas["MemoryLook"] }))) as unknown as Remembered, refetchOnWindowFocus: false });
  return (
    <Page
      title={name}
      aside={
        <>
          <Link to="/people">{t.back}</Link>
          {(agents.data?.length ?? 0) > 1 && <><label htmlFor="agent">{t.agent}</label><span><select id="agent" value={agent} onChange={(e) => setAgent(e.target.value)}><option value="">–</option>{agents.data?.map((a) => <option key={a.name}>{a.name}</option>)}</select></span></>}
          <Act label={t.forget} ask={`${t.forgetSure} ${name}?`} act={() => answer(api.DELETE("/admin/users/{user}", { params: { path: { user: name } } }))} />
        </>
      }
    >
      <Loaded query={found}>
        {(m) => (
          <>
            <p className="soft">{t.agent} {m.agent} · {t.owner} <span className="mono">{m.owner || "–"}</span></p>
            <Edit key={m.owner + m.text} memory={m} look={look} again={() => found.refetch()} />
            <Recall look={look} />
            <Card title={t.notes}>
              {!m.notes?.length && <p className="soft">{t.nothing}</p>}
              {m.notes?.map((n, i) => <details key={i}><summary>{n.day}</summary><Text text={n.text} /></details>)}
            </Card>
            {m.shared && <Card title={t.shared}><Text text={m.shared} /></Card>}
          </>
        )}
      </Loaded>
    </Page>
  );
}

type Look = { as?: string; user?: string; agent?: string };

function Edit({ memory, look, again }: { memory: Remembered; look: Look; again: () => void }) {
  const t = useTexts();
  const [text, setText] = useState(memory.text);
  const saved = useMutation({ mutationFn: () => answer(api.PUT("/api/memory", { body: { ...look, base: memory.text, new: text } as unknown as Schemas["MemoryEdit"] })), onSuccess: again });
  return (
    <form className="card" onSubmit={(e) => { e.preventDefault(); saved.mutate(); }}>
      <label htmlFor="memory">MEMORY.md</label>
      <textarea id="memory" rows={8} value={text} onChange={(e) => setText(e.target.value)} />
      <p className="row"><button className="first" disabled={saved.isPending || text === memory.text}>{t.save}</button></p>
      {saved.error && <Failure error={saved.error} />}
    </form>
  );
}

// Recall looks for what fits a question, as the model does.
function Recall({ look }: { look: Look }) {
  const t = useTexts();
  const [query, setQuery] = useState("");
  const found = useMutation({ mutationFn: async () => (await answer(api.POST("/api/memory", { body: { ...look, query } as Schemas["MemoryLook"] }))) as unknown as { found: Found[] | null } });
  return (
    <form className="card" onSubmit={(e) => { e.preventDefault(); found.mutate(); }}>
      <label htmlFor="recall">{t.recall}</label>
      <div className="row"><span><input id="recall" type="search" value={query} onChange={(e) => setQuery(e.target.value)} required /></span><button disabled={found.isPending}>{t.search}</button></div>
      {found.error && <Failure error={found.error} />}
      {found.data && !found.data.found?.length && <p className="soft">{t.nothing}</p>}
      {found.data?.found?.map((f, i) => <div key={i} className="said"><p className="soft">{f.from}</p><Text text={f.text} /></div>)}
    </form>
  );
}
