import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { answer, api, type Schemas } from "../api";
import { Badge, Card, Loaded, Page } from "../parts";
import { useTexts } from "../texts";

type Run = Schemas["InspectRunStatus"];

// Workflows draws the phases of each workflow, and where its runs are.
export function Workflows() {
  const t = useTexts();
  const found = useQuery({ queryKey: ["workflows"], queryFn: () => answer(api.GET("/api/workflows")) });
  const status = useQuery({ queryKey: ["status"], queryFn: () => answer(api.GET("/api/status")), refetchInterval: 2_000 });
  return (
    <Page title={t.flows}>
      <Loaded query={found}>
        {({ workflows }) => workflows?.length ? (
          <>
            {workflows.map((w) => {
              const runs = status.data?.runs?.filter((r) => r.flow.workflow === w.name) ?? [];
              return (
                <Card key={w.name} title={w.name}>
                  <p>{w.description}</p>
                  <Phases workflow={w} runs={runs} />
                  {runs.map((r) => <RunLine key={r.session} run={r} />)}
                </Card>
              );
            })}
          </>
        ) : <p className="soft">{t.nothing}</p>}
      </Loaded>
    </Page>
  );
}

// RunLine says where a run is, and how it came there.
export function RunLine({ run: r, here }: { run: Run; here?: boolean }) {
  const t = useTexts();
  return (
    <details>
      <summary>
        <Badge kind={r.waits ? "warn" : "good"}>{r.flow.phase}</Badge> {here ? r.flow.workflow : <Link to={`/sessions/${encodeURIComponent(r.session)}`}>{r.session}</Link>}
        {r.waits ? ` · ${r.waits} ${t.waiting}` : ""}
      </summary>
      <p className="soft">{r.flow.rounds ?? 0} {t.rounds} · {r.flow.all_tokens ?? 0} {t.tokens}{r.flow.cost ? ` · ${r.flow.cost.toFixed(4)}` : ""}</p>
      <ol>{r.flow.path?.map((s, i) => <li key={i}>{s.from ? `${s.from} → ` : ""}{s.to} <span className="soft">{s.why}</span></li>)}</ol>
    </details>
  );
}

const height = 64;
const box = { x: 10, width: 250, height: 40 };

// Phases draws phases from top to bottom; what leads further or back runs beside them.
export function Phases({ workflow: w, runs }: { workflow: Schemas["Workflow"]; runs: Run[] }) {
  const t = useTexts();
  // A run ends in a target that is no phase.
  const ends = ["done", "failed"].filter((end) => w.phases?.some((p) => p.next?.includes(end)));
  const phases: Schemas["Phase"][] = [...(w.phases ?? []), ...ends.map((name) => ({ name, next: [] }))];
  const at = new Map(phases.map((p, i) => [p.name, i]));
  const edges = phases.flatMap((p, from) => (p.next ?? []).map((name) => ({ from, to: at.get(name) ?? -1, name })));
  const beside = edges.filter((e) => e.to >= 0 && e.to !== e.from + 1);
  const right = box.x + box.width;
  const width = right + 40 + beside.length * 14;
  const middle = (i: number) => i * height + 6 + box.height / 2;
  const label = edges.map((e) => `${phases[e.from].name} → ${e.name}`).join(", ") || phases.map((p) => p.name).join(", ");
  return (
    <svg className="phases" viewBox={`0 0 ${Math.max(360, width)} ${phases.length * height}`} role="img" aria-label={`${t.phases}: ${label}`}>
      <defs><marker id={"tip-" + w.name} viewBox="0 0 8 8" refX={7} refY={4} markerWidth={7} markerHeight={7} orient="auto"><path className="tip" d="M0 0 8 4 0 8z" /></marker></defs>
      {edges.filter((e) => e.to === e.from + 1).map((e) => (
        <path key={e.from} className="edge" d={`M${box.x + box.width / 2} ${middle(e.from) + box.height / 2}V${middle(e.to) - box.height / 2}`} markerEnd={`url(#tip-${w.name})`} />
      ))}
      {beside.map((e, i) => {
        const x = right + 24 + i * 14, up = e.to > e.from ? -8 : 8;
        return <path key={i} className="edge" d={`M${right} ${middle(e.from) - up}H${x}V${middle(e.to) + up}H${right + 2}`} markerEnd={`url(#tip-${w.name})`} />;
      })}
      {phases.map((p, i) => {
        const here = runs.filter((r) => r.flow.phase === p.name);
        const visits = runs.reduce((n, r) => n + (r.flow.visits?.[p.name] ?? 0), 0);
        return (
          <g key={p.name} className={here.length ? "here" : ends.includes(p.name) ? "end" : visits ? "been" : undefined}>
            <rect x={box.x} y={middle(i) - box.height / 2} width={box.width} height={box.height} rx={7} />
            <text x={box.x + 10} y={middle(i) + (p.skill || p.model || visits ? -2 : 5)}>{p.name}{here.length > 0 && ` ● ${here.length}`}</text>
            <text className="soft" x={box.x + 10} y={middle(i) + 13}>{[p.skill, p.model, visits > 0 && `×${visits}`].filter(Boolean).join(" · ").slice(0, 38)}</text>
          </g>
        );
      })}
    </svg>
  );
}
