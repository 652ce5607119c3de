import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { answer, api, type Schemas } from "../api";
import { Card, Loaded, Page, Rows, useTime } from "../parts";
import { useTexts } from "../texts";

type Turn = Schemas["UsageTurn"];

// Usage shows the record of past turns: how many a day, and which tools they used.
export function Usage() {
  const t = useTexts();
  const time = useTime();
  const found = useQuery({ queryKey: ["usage"], queryFn: () => answer(api.GET("/api/usage", { params: { query: { limit: "1000" } } })) });
  return (
    <Page title={t.usage}>
      <Loaded query={found}>
        {({ turns }) => {
          const list = turns ?? [];
          const uses = new Map<string, number>();
          for (const turn of list) for (const tool of turn.tools ?? []) uses.set(tool, (uses.get(tool) ?? 0) + 1);
          const top = [...uses].sort((a, b) => b[1] - a[1]).slice(0, 12);
          const most = top[0]?.[1] ?? 1;
          return (
            <>
              <Card title={t.turnsPerDay}><Days turns={list} /></Card>
              <Card title={t.topTools}>
                {!top.length && <p className="soft">{t.nothing}</p>}
                <table>
                  <tbody>{top.map(([tool, n]) => <tr key={tool}><th scope="row" className="mono">{tool}</th><td><meter min={0} max={most} value={n} aria-label={tool} /></td><td className="number">{n}</td></tr>)}</tbody>
                </table>
              </Card>
              <Card title={t.recent}>
                <Rows<Turn> rows={list} label={t.recent} columns={[
                  { id: "text", header: t.text, accessorKey: "text" },
                  { id: "user", header: t.user, accessorFn: (x) => x.user ?? "" },
                  { id: "channel", header: t.channel, accessorFn: (x) => x.channel ?? "", meta: "hide" },
                  { id: "tools", header: t.tools, accessorFn: (x) => x.tools?.join(", ") ?? "" },
                  { id: "time", header: t.time, accessorKey: "time", cell: ({ row }) => time(row.original.time) },
                ]} />
              </Card>
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

function Days({ turns }: { turns: Turn[] }) {
  const t = useTexts();
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!place.current || !turns.length) return;
    const days = new Map<number, number>();
    for (const turn of turns) {
      const day = new Date(turn.time).setHours(0, 0, 0, 0) / 1000;
      days.set(day, (days.get(day) ?? 0) + 1);
    }
    const times = [...days.keys()].sort((a, b) => a - b);
    const colours = getComputedStyle(place.current);
    const chart = new uPlot(
      {
        width: place.current.clientWidth, height: 200, legend: { show: false },
        axes: [{ stroke: colours.color }, { stroke: colours.color }],
        series: [{}, { label: t.messages, fill: "#3b76f0aa", stroke: "#3b76f0", paths: uPlot.paths.bars?.({ size: [0.6, 60] }) }],
      },
      [times, times.map((day) => days.get(day) ?? 0)],
      place.current,
    );
    const resize = new ResizeObserver(([entry]) => chart.setSize({ width: entry.contentRect.width, height: 200 }));
    resize.observe(place.current);
    return () => { resize.disconnect(); chart.destroy(); };
  }, [turns, t.messages]);
  return <div ref={place} role="img" aria-label={t.turnsPerDay} />;
}
