import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../api";
import { Act, Card, Loaded, Risk, useTime } from "../parts";
import { useTexts } from "../texts";
import { straight } from "./straight";

// Waiting shows the calls and questions that wait for an answer.
export function Waiting({ always = false }: { always?: boolean }) {
  const t = useTexts();
  const time = useTime();
  const found = useQuery({ queryKey: ["approvals"], queryFn: () => answer(api.GET("/admin/approvals")), refetchInterval: 2_000 });
  const decide = (id: string, approved: boolean) => answer(api.POST("/admin/approvals/{id}", { params: { path: { id } }, body: { approved } }));
  return (
    <Loaded query={found}>
      {({ waiting, lasting }) => (
        <>
          {(always || (waiting?.length ?? 0) > 0) && (
            <Card title={t.waiting}>
              {!waiting?.length && <p className="soft">{t.nothing}</p>}
              {waiting?.map((a) => (
                <div key={a.id ?? a.call} className="said tool">
                  <p className="row"><b>{a.tool}</b> <Risk of={a.risk} /> <span className="soft">{a.name && `${straight(a.name)} · `}{[a.user, a.session, time(a.until) && `${t.until} ${time(a.until)}`].filter(Boolean).join(" · ")}</span></p>
                  {a.question && <p>{straight(a.question)}</p>}
                  {a.arguments && a.arguments !== "{}" && <pre>{straight(a.arguments)}</pre>}
                  {a.question && <Answer choices={a.choices ?? []} say={(said) => answer(api.POST("/admin/approvals/{id}", { params: { path: { id: a.id ?? a.call } }, body: { answer: said } }))} />}
                  {!a.question && (
                    <p className="row">
                      <Act first label={t.approve} act={() => decide(a.id ?? a.call, true)} />
                      <Act label={t.decline} act={() => decide(a.id ?? a.call, false)} />
                    </p>
                  )}
                </div>
              ))}
            </Card>
          )}
          {always && (lasting?.length ?? 0) > 0 && (
            <Card title={t.lasting}>
              {lasting?.map((g) => (
                <p key={g.id} className="row">
                  <b>{g.tool}</b> <span className="soft">{g.user} · {g.by} · {time(g.time)}</span>
                  <Act label={t.revoke} act={() => answer(api.DELETE("/admin/approvals/{id}", { params: { path: { id: g.id } } }))} />
                </p>
              ))}
            </Card>
          )}
        </>
      )}
    </Loaded>
  );
}

// Answer answers a question of a tool, by one of its choices or by a text.
function Answer({ choices, say }: { choices: string[]; say: (said: string) => Promise<unknown> }) {
  const t = useTexts();
  const [text, setText] = useState("");
  if (choices.length) return <p className="row">{choices.map((choice) => <Act key={choice} label={straight(choice)} act={() => say(choice)} />)}</p>;
  return (
    <form className="row" onSubmit={(e) => e.preventDefault()}>
      <input aria-label={t.chat_.answer} value={text} onChange={(e) => setText(e.target.value)} />
      <Act first label={t.chat_.answer} off={!text.trim()} act={() => say(text)} />
    </form>
  );
}
