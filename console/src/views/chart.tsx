import { useContext, useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { LanguageContext, useTexts } from "../texts";

export type Series = { label: string; values: number[] };

// amount writes a number of tokens, or a sum of money.
const amount = (n: number) => (Number.isInteger(n) ? n.toLocaleString() : n.toLocaleString(undefined, { maximumSignificantDigits: 3 }));

// moments writes the times of an axis as people of a language do, with the day where it changes. Apart is how many
// seconds lie between two.
function moments(times: number[], apart: number, language: string): string[] {
  let before = "";
  return times.map((time) => {
    const at = new Date(time * 1000);
    const day = at.toLocaleDateString(language, { day: "numeric", month: "short" });
    if (apart >= 86_400) return day;
    const hour = at.toLocaleTimeString(language, { hour: "2-digit", minute: "2-digit", second: apart < 60 ? "2-digit" : undefined });
    const same = day === before;
    before = day;
    return same ? hour : `${hour}\n${day}`;
  });
}

// most is how many series are told apart; the others are drawn as one.
const most = 6;

// Chart draws series over time, in seconds since 1970: as bars on each other, or as lines.
export function Chart({ times, series, label, lines = false, sums = true }: { times: number[]; series: Series[]; label: string; lines?: boolean; sums?: boolean }) {
  const t = useTexts();
  const language = useContext(LanguageContext) === "zh" ? "zh-CN" : "en-GB";
  const place = useRef<HTMLDivElement>(null);
  const shown = few(series, t.others);
  const text = JSON.stringify([times, shown, lines]);
  useEffect(() => {
    const [times, shown, lines] = JSON.parse(text) as [number[], Series[], boolean];
    if (!place.current || !times.length) return;
    const colours = getComputedStyle(place.current);
    const colour = (i: number) => colours.getPropertyValue(`--series-${i}`);
    // A bar on others reaches up to their sum, and is drawn before them.
    let sums = times.map(() => 0);
    const stacked = shown.map((s, i) => {
      sums = sums.map((sum, at) => sum + s.values[at]);
      return { label: s.label, values: lines ? s.values : sums, colour: colour(i) };
    });
    if (!lines) stacked.reverse();
    const step = times.slice(1).reduce((least, time, i) => Math.min(least, time - times[i]), lines ? 5 : 86_400);
    const chart = new uPlot(
      {
        width: place.current.clientWidth, height: 200, legend: { show: false }, cursor: { show: false },
        scales: { x: { range: [times[0] - step, times[times.length - 1] + step] }, y: { range: (_, _low, high) => [0, high > 0 ? high * 1.05 : 1] } },
        axes: [{ stroke: colours.color, grid: { show: false }, values: (_, at, _axis, _space, apart) => moments(at, apart, language) }, { stroke: colours.color, grid: { stroke: colours.getPropertyValue("--line") }, size: 62 }],
        series: [{}, ...stacked.map((s) => ({ label: s.label, stroke: s.colour, fill: lines ? undefined : s.colour, width: lines ? 2 : 0, paths: lines ? undefined : uPlot.paths.bars?.({ size: [0.6, 60] }), points: { show: lines } }))],
      },
      [times, ...stacked.map((s) => s.values)],
      place.current,
    );
    const resize = new ResizeObserver(([entry]) => chart.setSize({ width: entry.contentRect.width, height: 200 }));
    resize.observe(place.current);
    return () => { resize.disconnect(); chart.destroy(); };
  }, [text, language]);
  if (!times.length) return <p className="soft">{t.nothing}</p>;
  const total = (s: Series) => s.values.reduce((sum, n) => sum + n, 0);
  return (
    <>
      <div ref={place} className="chart" role="img" aria-label={`${label}: ${shown.map((s) => `${s.label} ${amount(total(s))}`).join(", ")}`} />
      <ul className="legend">{shown.map((s, i) => <li key={s.label} className={"series-" + i}>{s.label} {sums && <span className="soft">{amount(total(s))}</span>}</li>)}</ul>
    </>
  );
}

// few keeps the greatest series, and adds the others up.
function few(series: Series[], others: string): Series[] {
  if (series.length <= most) return series;
  const total = (s: Series) => s.values.reduce((sum, n) => sum + n, 0);
  const sorted = [...series].sort((a, b) => total(b) - total(a));
  const rest = sorted.slice(most - 1);
  return [...sorted.slice(0, most - 1), { label: others, values: rest[0].values.map((_, at) => rest.reduce((sum, s) => sum + s.values[at], 0)) }];
}

export type Event = { time: string; kind: string; n?: number };

// beginnings returns when the day of each event began, or the hour where all are of less than three days.
function beginnings(events: { time: string }[]): number[] {
  const moments = events.map((e) => new Date(e.time).getTime());
  const byDay = moments.reduce((x, y) => Math.max(x, y), -Infinity) - moments.reduce((x, y) => Math.min(x, y), Infinity) > 3 * 86_400_000;
  return moments.map((m) => (byDay ? new Date(m).setHours(0, 0, 0, 0) : new Date(m).setMinutes(0, 0, 0)) / 1000);
}

// overTime counts events by kind and day or hour.
export function overTime(events: Event[]): { times: number[]; series: Series[] } {
  const begins = beginnings(events);
  const times = [...new Set(begins)].sort((a, b) => a - b);
  const at = new Map(times.map((time, i) => [time, i]));
  const series = new Map<string, number[]>();
  events.forEach((e, i) => {
    const values = series.get(e.kind) ?? times.map(() => 0);
    values[at.get(begins[i])!] += e.n ?? 1;
    series.set(e.kind, values);
  });
  return { times, series: [...series].map(([label, values]) => ({ label, values })) };
}

// mediansOverTime returns the medians of events by day or hour.
export function mediansOverTime(events: { time: string; n: number }[], label: string): { times: number[]; series: Series[] } {
  const of = new Map<number, number[]>();
  beginnings(events).forEach((begin, i) => of.set(begin, [...(of.get(begin) ?? []), events[i].n]));
  const times = [...of.keys()].sort((a, b) => a - b);
  const median = (list: number[]) => list.sort((x, y) => x - y)[Math.floor(list.length / 2)];
  return { times, series: [{ label, values: times.map((time) => median(of.get(time)!)) }] };
}
