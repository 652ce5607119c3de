import type { Schemas } from "../api";
import { Badge, Figure } from "../parts";
import { useTexts, useWord } from "../texts";
import { Funnel } from "./funnel";

type Compact = Schemas["SelectionCompact"];

// inOrder are the stages in the order in which they run.
const inOrder = ["enabled", "groups", "visibility", "skill", "request", "rank", "budget"];

// savedTokens are those of all tools without those that were sent. What an older etui stored does not
// have the number of all.
export const savedTokens = (w: Compact) => (w.tokens_all ? Math.max(0, w.tokens_all - w.tokens_sent - (w.tokens_meta ?? 0)) : 0);

// money writes a sum in the currency of the model's price, which the configuration does not name.
export const money = (n: number) => n.toLocaleString(undefined, { minimumFractionDigits: 2, maximumSignificantDigits: 3 });

// cachedPrice is what a token from the provider's cache costs, as a part of another one.
const cachedPrice = 0.1;

// Spent shows what the answers to a message took: tokens, money, and whether the provider's cache was used.
function Spent({ list, saved }: { list: Schemas["ChatExpense"][]; saved: number }) {
  const t = useTexts();
  const sum = (of: (s: Schemas["ChatExpense"]) => number | undefined) => list.reduce((n, s) => n + (of(s) ?? 0), 0);
  const input = sum((s) => s.input), cached = sum((s) => s.cache_read), cost = sum((s) => s.cost);
  const part = input ? cached / input : 0;
  const spared = sum((s) => (saved * (s.price ?? 0) * (1 - part + part * cachedPrice)) / 1e6);
  const broken = list.at(-1)?.broken ?? [];
  return (
    <>
      <div className="figures">
        <Figure value={input.toLocaleString()} label={t.input} />
        <Figure value={`${cached.toLocaleString()} (${Math.floor(100 * part)}\u00a0%)`} label={t.cacheHits} />
        <Figure value={sum((s) => s.output).toLocaleString()} label={t.output} />
        {cost > 0 && <Figure value={money(cost)} label={t.cost} />}
        {spared > 0 && <Figure value={money(spared)} label={t.spared} />}
        <Figure value={`${(sum((s) => s.took_ms) / 1000).toFixed(1)} s`} label={t.modelTook} />
      </div>
      <p className="row"><span className="soft">{t.cache}</span> {broken.length ? broken.map((b) => <Badge key={b} kind="warn">{t.cacheBroken} {t.causes[b] ?? b}</Badge>) : <Badge kind="good">{t.cacheKept}</Badge>}</p>
    </>
  );
}

// Why shows what an earlier message got: the funnel from all tools to those sent, and what that saved.
export function Why({ compact: w, spent = [] }: { compact: Compact; spent?: Schemas["ChatExpense"][] }) {
  const t = useTexts();
  const word = useWord();
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
        <Figure value={(w.tokens_sent + (w.tokens_meta ?? 0)).toLocaleString()} label={t.tokensSent} />
        {w.tokens_all ? <Figure value={`${saved.toLocaleString()} (${Math.floor((100 * saved) / w.tokens_all)}\u00a0%)`} label={t.tokensSaved} /> : null}
      </div>
      {spent.length > 0 && <Spent list={spent} saved={saved} />}
      {(w.mode || w.phase || w.language) && <p className="soft">{[w.mode && `${t.mode} ${word(w.mode)}`, w.phase && `${t.phase} ${w.phase}`, w.language && `${t.wordLanguage} ${w.language}`].filter(Boolean).join(" · ")}</p>}
      {w.request && <p><span className="soft">{t.taken}:</span> {w.request}</p>}
      <Funnel steps={steps} sent={sent} />
      {reached.map(([label, list]) => list?.length ? (
        <p key={label} className="row"><span className="soft">{label}</span> {list.map((s) => <Badge key={s.tool} kind={s.kept ? "soft" : "good"}>{s.tool} {s.score ? s.score.toFixed(1) : ""}{s.kept ? " · " + t.kept : ""}</Badge>)}</p>
      ) : null)}
      {w.more ? <p className="soft">{w.more} {t.further}</p> : null}
      {(w.near?.length ?? 0) > 0 && (
        <p className="row"><span className="soft">{t.near}</span> {w.near?.map((s) => <Badge key={s.tool} kind="warn">{s.tool} {s.score?.toFixed(1)} · {t.lost[s.stage ?? ""] ?? t.stages[s.stage ?? ""] ?? s.stage}</Badge>)}</p>
      )}
      {(w.skills?.length ?? 0) > 0 && <p><span className="soft">{t.skills}:</span> {w.skills?.join(", ")}</p>}
    </div>
  );
}
