import { useQueryClient, type UseQueryResult, useMutation } from "@tanstack/react-query";
import { type ColumnDef, flexRender, getCoreRowModel, type SortingState, useReactTable } from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { Fragment, type ReactNode, useContext, useDeferredValue, useId, useMemo, useRef, useState } from "react";
import { LanguageContext, useTexts, useWord } from "./texts";

export function Page({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <>
      <div className="bar">
        <h1>{title}</h1>
        <div className="row">{aside}</div>
      </div>
      {children}
    </>
  );
}

export function Card({ title, children }: { title?: ReactNode; children: ReactNode }) {
  return (
    <section className="card">
      {title && <h2>{title}</h2>}
      {children}
    </section>
  );
}

// Loaded shows what a query found, and until then how it stands.
export function Loaded<T>({ query, children }: { query: UseQueryResult<T>; children: (data: T) => ReactNode }) {
  const t = useTexts();
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.error) return <Failure error={query.error} again={() => query.refetch()} />;
  return <p className="soft">{t.loading}</p>;
}

export function Failure({ error, again }: { error: Error; again?: () => void }) {
  const t = useTexts();
  return (
    <p role="alert" className="bad">
      {t.failed} {error.message} {again && <button onClick={again}>{t.again}</button>}
    </p>
  );
}

// Act is a button that changes something, and then has what is shown read again.
export function Act({ label, first, off, ask, act }: { label: string; first?: boolean; off?: boolean; ask?: string; act: () => Promise<unknown> }) {
  const client = useQueryClient();
  const change = useMutation({ mutationFn: act, onSettled: () => client.invalidateQueries() });
  return (
    <>
      <button className={first ? "first" : undefined} disabled={off || change.isPending} onClick={() => (!ask || confirm(ask)) && change.mutate()}>
        {label}
      </button>
      {change.error && <Failure error={change.error} />}
    </>
  );
}

// useTime returns a function that writes a time in the language of the page.
export function useTime() {
  const language = useContext(LanguageContext);
  return (time?: string) => {
    if (!time || time.startsWith("0001")) return "";
    return new Intl.DateTimeFormat(language === "zh" ? "zh-CN" : "en-GB", { dateStyle: "short", timeStyle: "medium" }).format(new Date(time));
  };
}

export function Figure({ value, label }: { value: ReactNode; label: string }) {
  return (
    <div className="figure">
      <b>{value}</b>
      <span className="soft">{label}</span>
    </div>
  );
}

export function Badge({ kind, children }: { kind: "good" | "bad" | "warn" | "soft"; children: ReactNode }) {
  return <span className={"badge " + kind}>{children}</span>;
}

// Names lists names of tools. Long ones break, after an underscore.
export function Names({ of }: { of: string[] }) {
  return of.map((name, i) => <Fragment key={i}>{i > 0 && ", "}{name.match(/.{11,}?_(?=.)|.+$/g)?.map((part, at) => <Fragment key={at}>{at > 0 && <wbr />}{part}</Fragment>)}</Fragment>);
}

// Risk says what a tool may do.
export function Risk({ of: risk }: { of?: string }) {
  const word = useWord();
  return risk ? <Badge kind={riskKind(risk)}>{word(risk)}</Badge> : null;
}

const riskKind = (risk?: string) => (risk === "destructive" ? "bad" : risk === "write" ? "warn" : "soft");

// pick returns the rows that contain a text, in the order of a column.
function pick<T>(rows: T[], columns: ColumnDef<T, any>[], search: string, [by]: SortingState): T[] {
  const read = (c: ColumnDef<T, any>, row: T, i: number) => ("accessorFn" in c ? c.accessorFn(row, i) : "accessorKey" in c ? row[c.accessorKey as keyof T] : undefined);
  const wanted = search.toLowerCase();
  const found = wanted ? rows.filter((row, i) => columns.some((c) => String(read(c, row, i) ?? "").toLowerCase().includes(wanted))) : rows;
  const column = by && columns.find((c) => c.id === by.id);
  if (!column) return found;
  const keyed = found.map((row, i) => {
    const key: unknown = read(column, row, i) ?? "";
    return { row, key: typeof key === "number" ? key : String(key).toLowerCase() };
  });
  const up = by.desc ? -1 : 1;
  return keyed.sort((a, b) => (a.key < b.key ? -up : a.key > b.key ? up : 0)).map((k) => k.row);
}

// Rows is a table that sorts, searches, and draws only the rows in view. The library's table knows
// these alone: of ten thousand rows it would make objects for half a second.
export function Rows<T>({ rows, columns, label, mark, filter = true }: {
  rows: T[];
  columns: ColumnDef<T, any>[];
  label: string;
  mark?: (row: T) => boolean;
  filter?: boolean;
}) {
  const t = useTexts();
  const [search, setSearch] = useState("");
  const id = useId();
  const frame = useRef<HTMLDivElement>(null);
  const [sorting, setSorting] = useState<SortingState>([]);
  const wanted = useDeferredValue(search);
  const shown = useMemo(() => pick(rows, columns, wanted, sorting), [rows, wanted, sorting]); // columns are new each time
  const view = useVirtualizer({ count: shown.length, getScrollElement: () => frame.current, estimateSize: () => 40, overscan: 4 });
  const items = view.getVirtualItems();
  const data = useMemo(() => items.map((item) => shown[item.index]), [items, shown]); // the table draws again for another one
  const table = useReactTable({
    data, columns, autoResetAll: false, getRowId: (_, i) => String(items[i].index),
    state: { sorting }, onSortingChange: setSorting, manualSorting: true, getCoreRowModel: getCoreRowModel(),
  });
  const even = rows.length > 1_000; // to measure a row is to place all that follow it again
  const inView = table.getRowModel().rows;
  if (rows.length === 0) return <p className="soft">{t.nothing}</p>;
  const before = items[0]?.start ?? 0;
  const after = view.getTotalSize() - (items.at(-1)?.end ?? 0);
  return (
    <>
      {filter && rows.length > 8 && (
        <div className="row">
          <label htmlFor={id} className="sr">{t.search}</label>
          <input id={id} type="search" placeholder={t.search} value={search} onChange={(e) => setSearch(e.target.value)} />
          <span className="soft" aria-live="polite">{shown.length} {t.of} {rows.length}</span>
        </div>
      )}
      <div className="scroll" ref={frame} tabIndex={0} role="region" aria-label={label}>
        <table className={even ? "even" : undefined}>
          <thead>
            {table.getHeaderGroups().map((group) => (
              <tr key={group.id}>
                {group.headers.map((h) => (
                  <th key={h.id} scope="col" className={h.column.columnDef.meta as string} aria-sort={{ asc: "ascending", desc: "descending" }[h.column.getIsSorted() as string] as "ascending" | undefined}>
                    {h.column.getCanSort() ? (
                      <button onClick={h.column.getToggleSortingHandler()}>
                        {flexRender(h.column.columnDef.header, h.getContext())}
                        {{ asc: " ↑", desc: " ↓" }[h.column.getIsSorted() as string] ?? ""}
                      </button>
                    ) : (
                      flexRender(h.column.columnDef.header, h.getContext())
                    )}
                  </th>
                ))}
              </tr>
            ))}
          </thead>
          <tbody>
            {before > 0 && <tr aria-hidden><td colSpan={columns.length} style={{ height: before }} /></tr>}
            {items.map((item, i) => {
              const row = inView[i];
              return (
                <tr key={row.id} data-index={item.index} ref={even ? undefined : view.measureElement} className={mark?.(row.original) ? "sent" : undefined}>
                  {row.getVisibleCells().map((cell) => (
                    <td key={cell.id} className={cell.column.columnDef.meta as string}>{flexRender(cell.column.columnDef.cell, cell.getContext())}</td>
                  ))}
                </tr>
              );
            })}
            {after > 0 && <tr aria-hidden><td colSpan={columns.length} style={{ height: after }} /></tr>}
          </tbody>
        </table>
      </div>
    </>
  );
}
