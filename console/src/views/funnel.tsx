import type { Schemas } from "../api";
import { useTexts } from "../texts";

// Funnel draws how many tools each stage left, from all of them to those sent.
export function Funnel({ steps, sent }: { steps: Pick<Schemas["SelectionStep"], "stage" | "left" | "dropped">[]; sent?: number }) {
  const t = useTexts();
  // A stage that drops nothing is left out, but for the first.
  const rows = steps.filter((s, i) => i === 0 || s.dropped > 0).map((s) => ({ ...s, stage: t.stages[s.stage] ?? s.stage, last: false }));
  if (sent !== undefined) rows.push({ stage: t.sent, left: sent, dropped: 0, last: true });
  const most = Math.max(1, ...rows.map((r) => r.left));
  return (
    <div className="funnel" role="img" aria-label={rows.map((r) => `${r.stage}: ${r.left}`).join(", ")}>
      {rows.map((r, i) => (
        <div key={i}>
          <span>{r.stage}</span>
          <span><i className={r.last ? "last" : undefined} style={{ width: `${(80 * r.left) / most}%` }} />{r.left.toLocaleString()}</span>
          <span className="soft">{r.dropped > 0 && `−${r.dropped.toLocaleString()}`}</span>
        </div>
      ))}
    </div>
  );
}
