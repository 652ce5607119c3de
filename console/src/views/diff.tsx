import { diffLines } from "diff";
import { Fragment } from "react";
import { useTexts } from "../texts";

// around is how many unchanged lines are shown beside a change.
const around = 3;

// lines writes a definition with a line for each sentence and each value, so that a change of one is
// a change of a line.
function lines(definition: unknown): string {
  return Object.entries((definition ?? {}) as Record<string, unknown>)
    .filter(([key, value]) => key !== "hash" && value !== undefined && value !== "")
    .map(([key, value]) => `${key}:\n` + (typeof value === "string" ? value.replace(/([.!?;])\s+|([。！？；])/g, "$1$2\n") : JSON.stringify(value, null, 2)).replace(/^/gm, "  "))
    .join("\n") + "\n";
}

// Difference shows two definitions line by line: those that went and those that came, with a few of
// the unchanged ones around them.
export function Difference({ before, now, label }: { before: unknown; now: unknown; label: string }) {
  const t = useTexts();
  const parts = diffLines(before ? lines(before) : "", lines(now));
  return (
    <div className="scroll diff mono" tabIndex={0} role="region" aria-label={label}>
      {parts.map((p, i) => {
        const list = p.value.replace(/\n$/, "").split("\n");
        if (p.added) return <ins key={i}><span className="sr">{t.cameIn} </span>{list.map((line, at) => <div key={at}>+ {line}</div>)}</ins>;
        if (p.removed) return <del key={i}><span className="sr">{t.wentOut} </span>{list.map((line, at) => <div key={at}>− {line}</div>)}</del>;
        const head = i ? list.slice(0, around) : [];
        const tail = i < parts.length - 1 ? list.slice(Math.max(head.length, list.length - around)) : [];
        const left = list.length - head.length - tail.length;
        return (
          <Fragment key={i}>
            {head.map((line, at) => <div key={at}>{"  " + line}</div>)}
            {left > 0 && <div className="soft">… {left}</div>}
            {tail.map((line, at) => <div key={"t" + at}>{"  " + line}</div>)}
          </Fragment>
        );
      })}
    </div>
  );
}
