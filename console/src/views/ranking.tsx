import { useQuery } from "@tanstack/react-query";
import { answer, api, type Schemas } from "../api";
import { Badge, Card, Figure, Loaded, Page, useTime } from "../parts";
import { useTexts } from "../texts";
import { Evaluate } from "./evaluate";

// Ranking shows how much each part of a tool counts, and each factor: by default, before the last
// change, and now.
export function Ranking() {
  const t = useTexts();
  const time = useTime();
  const found = useQuery({ queryKey: ["ranking"], queryFn: () => answer(api.GET("/admin/ranking")) });
  return (
    <Page title={t.ranking}>
      <Loaded query={found}>
        {(r) => (
          <>
            {r.trouble && <p role="alert" className="card bad">{r.trouble}</p>}
            <p className="soft">{r.made ? <>{t.fitted} {time(r.made)} · {r.by}</> : t.notFitted} <code>etui tune</code></p>
            <Card title={t.weights}>
              <p className="soft">{t.weightsHow}</p>
              <Gain judged={r.judged} />
              <Weights list={r.weights ?? []} label={t.weights} />
            </Card>
            <Card title={t.recommender}>
              <p className="soft">{t.recommenderHow}</p>
              {r.fixed && <p className="warn">{r.fixed}</p>}
              <Gain judged={r.judged_recommender} />
              <Weights list={r.recommender ?? []} label={t.recommender} names={t.factors} />
            </Card>
          </>
        )}
      </Loaded>
      <Evaluate />
    </Page>
  );
}

function Gain({ judged: j }: { judged?: Schemas["FittingGain"] }) {
  const t = useTexts();
  if (!j) return null;
  return (
    <div className="figures">
      <Figure value={`${(100 * j.before).toFixed(1)} → ${(100 * j.after).toFixed(1)}`} label={`nDCG@5 (± ${(100 * j.noise).toFixed(1)})`} />
      <Figure value={j.held_out} label={t.heldOut} />
    </div>
  );
}

function Weights({ list, label, names = {} }: { list: Schemas["Weight"][]; label: string; names?: Record<string, string> }) {
  const t = useTexts();
  if (!list.length) return <p className="soft">{t.nothing}</p>;
  const most = Math.max(...list.map((w) => Math.max(w.default, w.before, w.now)), 0.001);
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead><tr><th scope="col">{t.name}</th><th scope="col" className="number hide">{t.default}</th><th scope="col" className="number">{t.before}</th><th scope="col" className="number">{t.now}</th><th scope="col"><span className="sr">{t.now}</span></th></tr></thead>
        <tbody>
          {list.map((w) => (
            <tr key={w.name} className={w.now !== w.before ? "sent" : undefined}>
              <th scope="row">{names[w.name] ?? t.fields[w.name] ?? w.name}</th>
              <td className="number hide">{w.default}</td>
              <td className="number">{w.before}</td>
              <td className="number">{w.now !== w.before ? <Badge kind={w.now > w.before ? "good" : "warn"}>{w.now > w.before ? "↑" : "↓"} {w.now}</Badge> : w.now}</td>
              <td><meter min={0} max={most} value={w.now} aria-label={`${names[w.name] ?? w.name} ${w.now}`} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
