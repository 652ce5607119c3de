import { useMutation } from "@tanstack/react-query";
import { useId, useState } from "react";
import { answer, api, type Schemas } from "../api";
import { Badge, Card, Failure, Figure, Rows } from "../parts";
import { useTexts } from "../texts";
import { Difference } from "./diff";

// read takes a question and its tools from each line: "mail Ann => send_mail, find_person".
function read(text: string): Schemas["EvalQuestion"][] {
  return text.split("\n").flatMap((line) => {
    const at = line.lastIndexOf("=>");
    const tools = at < 0 ? [] : line.slice(at + 2).split(/[\s,，]+/).filter(Boolean);
    return tools.length ? [{ text: line.slice(0, at).trim(), tools }] : [];
  });
}

// most is how many past messages are taken as questions.
const most = 200;

// Evaluate measures the ranking on questions of the person, and adds those that it misses as examples.
export function Evaluate() {
  const t = useTexts();
  const id = useId();
  const [text, setText] = useState("");
  const past = useMutation({
    mutationFn: () => answer(api.GET("/admin/turns", { params: { query: { limit: String(most) } } })),
    onSuccess: (turns) => setText((turns ?? []).flatMap((x) => {
      const tools = [...new Set(x.calls?.filter((c) => !c.failed).map((c) => (c.tool === "call_tool" ? String((c.arguments as { name?: string } | undefined)?.name ?? "") : c.tool)))].filter((n) => n && !/^(find_tools|describe_tool|use_skill)$/.test(n));
      return tools.length ? [`${x.text.replace(/\s+/g, " ")} => ${tools.join(", ")}`] : [];
    }).join("\n")),
  });
  const found = useMutation({ mutationFn: () => answer(api.POST("/admin/ranking/evaluate", { body: { questions: read(text) } })) });
  const percent = (x: number) => `${(100 * x).toFixed(1)} %`;
  return (
    <Card title={t.ownQuestions}>
      <form onSubmit={(e) => { e.preventDefault(); found.mutate(); }}>
        <label htmlFor={id}>{t.ownHow}</label>
        <textarea id={id} rows={5} value={text} onChange={(e) => setText(e.target.value)} placeholder="will it rain tomorrow => get_weather" />
        <p className="row">
          <button className="first" disabled={found.isPending || !read(text).length}>{t.measure}</button>
          <button type="button" disabled={past.isPending} onClick={() => past.mutate()}>{t.takePast}</button>
        </p>
      </form>
      {(found.error ?? past.error) && <Failure error={(found.error ?? past.error)!} />}
      {found.data && (
        <div role="status">
          <div className="figures">
            <Figure value={found.data.score.queries} label={t.questions} />
            <Figure value={percent(found.data.score["recall@5"])} label="recall@5" />
            <Figure value={percent(found.data.score["ndcg@5"])} label="nDCG@5" />
            <Figure value={found.data.misses?.length ?? 0} label={t.misses} />
          </div>
          {(found.data.misses?.length ?? 0) > 0 && (
            <Rows rows={found.data.misses ?? []} label={t.misses} columns={[
              { id: "text", header: t.message, accessorKey: "text" },
              { id: "tool", header: t.tool, accessorKey: "tool", cell: ({ row }) => <span className="mono">{row.original.tool}</span> },
              { id: "place", header: t.place, accessorFn: (m) => m.place || 999, meta: "number", cell: ({ row: { original: m } }) => (m.unknown ? <Badge kind="bad">{t.noTool}</Badge> : m.place || "–") },
              { id: "instead", header: t.instead, accessorFn: (m) => m.instead?.join(", ") ?? "", meta: "hide" },
              { id: "add", header: t.examples, cell: ({ row: { original: m } }) => !m.unknown && <Add miss={m} /> },
            ]} />
          )}
        </div>
      )}
    </Card>
  );
}

// Add shows what a miss would add to the texts of its tool, and then writes it.
function Add({ miss: m }: { miss: Schemas["EvalMiss"] }) {
  const t = useTexts();
  const change = useMutation({ mutationFn: (save: boolean) => answer(api.POST("/admin/ranking/examples", { body: { tool: m.tool, example: m.text, save } })) });
  const x = change.data;
  const parsed = (line: string) => (line ? JSON.parse(line, (_, value: unknown) => value ?? undefined) : undefined) as unknown;
  return (
    <>
      {!x?.saved && <button disabled={change.isPending} onClick={() => change.mutate(!!x)}>{x ? t.write : t.addExample}</button>}
      {change.error && <Failure error={change.error} />}
      {x && (
        <div>
          <p className="soft mono">{x.file} {x.saved && <Badge kind="good">{t.saved_}</Badge>}</p>
          <Difference before={parsed(x.before)} now={parsed(x.after)} label={`${t.examples}: ${m.tool}`} />
        </div>
      )}
    </>
  );
}
