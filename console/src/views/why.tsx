import type { Schemas } from "../api";
import { Badge, Figure } from "../parts";
import { useTexts } from "../texts";
import { Funnel } from "./funnel";

type Compact = Schemas["SelectionCompact"];

// inOrder are the stages in the order in which they run.
const inOrder = ["enabled", "groups", "visibility", "skill", "request", "rank", "budget"];

// savedTokens are those of all tools without those that were sent. What an older etui stored does not
// have the number of all.
export const savedTokens = (w: Compact) => (w.tokens_all ? Math.max(0, w.tokens_all - w.tokens_sent - (w.tokens_meta ?? 0)) : 0);

// Why shows what an earlier message got: the funnel from all tools to those sent, and tokens saved.
export function Why({ compact: w }: { compact: Compact }) {
  const t = useTexts();
  const reached: [string, Schemas["SelectionScored"][] | null | undefined][] = [[t.declared, w.declared], [t.announced, w.announced], [t.named, w.named]];
  let left = w.tools;
  const steps = [{ stage: "catalog", left, dropped: 0 }, ...inOrder.map((stage) => {
    const dropped = w.dropped?.[stage] ?? 0;
    left -= dropped;
    return { stage, left, dropped };
  })];
  const sent = left; // without etui's own tools, which find and call others
  const saved = savedTokens(w);
  return (
    <div className="card">
      <div className="figures">
        <Figure value={sent} label={t.sentTools} />
        <Figure value={w.tools} label={t.allTools} />
        <Figure value={w.tokens_sent + (w.tokens_meta ?? 0)} label={t.tokensSent} />
        {w.tokens_all ? <Figure value={`${saved} (${Math.floor((100 * saved) / w.tokens_all)} %)`} label={t.tokensSaved} /> : null}
      </div>
      {(w.mode || w.phase || w.language) && <p className="soft">{[w.mode && `${t.mode} ${w.mode}`, w.phase && `${t.phase} ${w.phase}`, w.language && `${t.wordLanguage} ${w.language}`].filter(Boolean).join(" · ")}</p>}
      {w.request && <p><span className="soft">{t.taken}:</span> {w.request}</p>}
      <Funnel steps={steps} sent={sent} />
      {reached.map(([label, list]) => list?.length ? (
        <p key={label} className="row"><span className="soft">{label}</span> {list.map((s) => <Badge key={s.tool} kind={s.kept ? "soft" : "good"}>{s.tool} {s.score ? s.score.toFixed(1) : ""}{s.kept ? " · " + t.kept : ""}</Badge>)}</p>
      ) : null)}
      {w.more ? <p className="soft">{w.more} {t.further}</p> : null}
      {(w.near?.length ?? 0) > 0 && (
        <p className="row"><span className="soft">{t.near}</span> {w.near?.map((s) => <Badge key={s.tool} kind="warn">{s.tool} {s.score?.toFixed(1)} · {t.stages[s.stage ?? ""] ?? s.stage}</Badge>)}</p>
      )}
      {(w.skills?.length ?? 0) > 0 && <p><span className="soft">{t.skills}:</span> {w.skills?.join(", ")}</p>}
    </div>
  );
}
