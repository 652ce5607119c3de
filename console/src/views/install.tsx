import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { answer, api } from "../api";
import { Badge, Card, Failure } from "../parts";
import { useTexts, useWord } from "../texts";

// Install finds skills in registries, shows what one would write and what to look at in it, and installs it.
export function Install() {
  const t = useTexts();
  const id = useId();
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [accept, setAccept] = useState(false);
  const find = useMutation({ mutationFn: () => answer(api.GET("/admin/registries", { params: { query: { query: name } } })) });
  const look = useMutation({
    mutationFn: (from: { name: string; registry?: string }) => answer(api.POST("/admin/skills/offer", { body: from })),
    onMutate: () => { setAccept(false); install.reset(); },
  });
  const install = useMutation({
    mutationFn: () => answer(api.POST("/admin/skills/install", { body: { ...look.variables!, sum: look.data!.sum, accept } })),
    onSuccess: () => client.invalidateQueries(),
  });
  const word = useWord();
  const o = look.data;
  const doubtful = !!o && ((o.flags?.length ?? 0) > 0 || o.verdict === "suspicious");
  const error = install.error ?? look.error ?? find.error;
  return (
    <Card title={t.install}>
      <form onSubmit={(e) => { e.preventDefault(); look.mutate({ name }); }}>
        <label htmlFor={id}>{t.installHow}</label>
        <input id={id} value={name} onChange={(e) => setName(e.target.value)} placeholder="https://github.com/anthropics/skills/tree/main/skills/pdf" required />
        <p className="row">
          <button className="first" disabled={look.isPending || !name}>{t.look}</button>
          <button type="button" disabled={find.isPending || !name} onClick={() => find.mutate()}>{t.findSkills}</button>
          {(look.isPending || find.isPending) && <span className="soft">{t.loading}</span>}
        </p>
      </form>
      {error && <Failure error={error} />}
      {find.data?.failed?.map((f) => <p key={f} className="warn">{f}</p>)}
      {find.data && (
        <ul>
          {find.data.skills?.map((s) => (
            <li key={s.registry + s.words}>
              <button onClick={() => look.mutate({ name: s.words, registry: s.registry })}>{s.words}</button> {s.installed && <Badge kind="good">{t.installed}</Badge>} {s.description} <span className="soft">{s.registry} {s.version}</span>
            </li>
          ))}
          {!find.data.skills?.length && <li className="soft">{t.nothing}</li>}
        </ul>
      )}
      {o && (
        <div className="said tool" role="status">
          <p className="row"><b>{o.name}</b> {o.version} <Badge kind={o.verdict === "clean" ? "good" : "warn"}>{word(o.verdict)}</Badge> <Badge kind={o.signature === "verified" ? "good" : "soft"}>{word(o.signature)}</Badge> <span className="soft">{o.registry} {o.location} {o.signer}</span></p>
          {o.reason && <p className="warn">{o.reason}</p>}
          <p>{t.wouldWrite}</p>
          <ul className="mono">{o.files?.map((f) => <li key={f}>skills/{o.name}/{f}</li>)}</ul>
          {(o.flags?.length ?? 0) > 0 && <><p className="warn">{t.lookAt}</p><ul>{o.flags?.map((f, i) => <li key={i} className="warn"><span className="mono">{f.file}{f.line ? `:${f.line}` : ""}</span> {f.why}</li>)}</ul></>}
          {doubtful && <label className="row"><input type="checkbox" checked={accept} onChange={(e) => setAccept(e.target.checked)} />{t.acceptFlags}</label>}
          {install.isSuccess ? <p className="good">{t.installed}: {install.data.name}</p> : <button className="first" disabled={install.isPending || (doubtful && !accept)} onClick={() => install.mutate()}>{t.install}</button>}
        </div>
      )}
    </Card>
  );
}
