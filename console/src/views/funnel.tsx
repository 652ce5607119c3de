import type { Schemas } from "../api";
import { useTexts } from "../texts";

// Funnel draws how many tools each stage left, from all of them to those sent.
export function Funnel({ steps, sent }: { steps: Pick<Schemas["SelectionStep"], "stage" | "left" | "dropped">[]; sent?: number }) {
  const t = useTexts();
  // A stage that drops nothing is left out, but for the first.
  const rows = steps.filter((s, i) => i === 0 || s.dropped > 0).map((s) => ({ ...s, last: false }));
  if (sent !== undefined) rows.push({ stage: t.sent, left: sent, dropped: 0, last: true });
  const most = Math.max(1, ...rows.map((r) => r.left));
  const height = 30;
  return (
    <svg className="funnel" viewBox={`0 0 720 ${rows.length * height + 4}`} role="img" aria-label={rows.map((r) => `${r.stage}: ${r.left}`).join(", ")}>
      {rows.map((r, i) => {
        const width = Math.max(2, (r.left / most) * 430);
        return (
          <g key={i} transform={`translate(0 ${i * height + 2})`}>
            <text x={0} y={18}>{t.stages[r.stage] ?? r.stage}</text>
            <rect className={r.last ? "last" : ""} x={170} y={3} width={width} height={20} rx={3} />
            <text x={176 + width} y={18}>{r.left}</text>
            {r.dropped > 0 && <text className="soft" x={720} y={18} textAnchor="end">−{r.dropped}</text>}
          </g>
        );
      })}
    </svg>
  );
}
