import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { answer, api, type Schemas } from "../api";
import { Badge, Failure, Rows, useTime } from "../parts";
import { useTexts } from "../texts";

type Change = Schemas["PreviewChange"];

const kinds = { hidden: "bad", deny: "bad", ask: "warn", allow: "good" } as const;

// Effect names what becomes of a tool.
function Effect({ of }: { of: string }) {
  const t = useTexts();
  return <Badge kind={kinds[of as keyof typeof kinds] ?? "soft"}>{t.effects[of] ?? of}</Badge>;
}

const Turning = ({ change: c }: { change: Change }) => <span className="row"><Effect of={c.before} /> → <Effect of={c.after} /></span>;

// Preview shows what the rules of a text would have meant for the latest turns. Nothing runs or is saved.
export function Preview({ text }: { text: () => string }) {
  const t = useTexts();
  const time = useTime();
  const found = useMutation({ mutationFn: () => answer(api.POST("/admin/configuration/preview", { body: { text: text(), base: "" } })) });
  const r = found.data;
  return (
    <div>
      <p className="row"><button disabled={found.isPending} onClick={() => found.mutate()}>{t.preview}</button> <span className="soft">{t.previewHow}</span></p>
      {found.error && <Failure error={found.error} />}
      {r && (
        <div role="status">
          <p><b>{r.changed?.length ?? 0}</b> {t.of} {r.turns} {t.turnsChange}</p>
          {(r.tools?.length ?? 0) > 0 && (
            <Rows rows={r.tools ?? []} label={t.preview} columns={[
              { id: "tool", header: t.tool, accessorKey: "tool", cell: ({ row }) => <span className="mono">{row.original.tool}</span> },
              { id: "after", header: t.becomes, accessorFn: (c) => `${t.effects[c.before]} ${t.effects[c.after]}`, cell: ({ row }) => <Turning change={row.original} /> },
              { id: "why", header: t.reason, accessorFn: (c) => c.why ?? "", meta: "hide" },
              { id: "turns", header: t.messages, accessorKey: "turns", meta: "number" },
              { id: "used", header: t.ofThemUsed, accessorFn: (c) => c.used ?? 0, meta: "number" },
            ]} />
          )}
          {r.changed?.map((c) => (
            <details key={c.past.session + c.past.time}>
              <summary>{c.past.text} <span className="soft">{[c.past.user, c.past.channel, time(c.past.time)].filter(Boolean).join(" · ")}</span></summary>
              <p><Link to={`/sessions/${encodeURIComponent(c.past.session)}`}>{c.past.session}</Link></p>
              <ul>
                {c.calls?.map((x, i) => <li key={"c" + i}><b className="mono">{x.tool}</b> ({t.called}) <Turning change={x} /> <span className="soft">{x.why}</span></li>)}
                {c.tools?.map((x) => <li key={x.tool}><span className="mono">{x.tool}</span> <Turning change={x} /> <span className="soft">{x.why}</span></li>)}
                {c.more ? <li className="soft">{c.more} {t.further}</li> : null}
              </ul>
            </details>
          ))}
        </div>
      )}
    </div>
  );
}
