import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { answer, api, type Schemas } from "../api";
import { Card } from "../parts";
import { useTexts } from "../texts";

// deepest is how far the tree goes down. Sub-agents of sub-agents are rare.
const deepest = 4;

const read = (key: string) => answer(api.GET("/admin/sessions/{key}", { params: { path: { key }, query: { limit: "1000" } } }));

// children are the conversations of the sub-agents that a conversation had work.
const children = (c?: Schemas["InspectConversation"]) => [...new Set((c?.said ?? []).map((m) => m.result?.session).filter((key): key is string => !!key && key !== c?.key))];

// Tree shows the sub-agents of a conversation, from its topmost parent down.
export function Tree({ of }: { of: Schemas["InspectConversation"] }) {
  const t = useTexts();
  const top = useQuery({
    queryKey: ["session-top", of.key, of.parent],
    queryFn: async () => {
      let key = of.parent ?? of.key;
      for (let up = 0; up < deepest && key !== of.key; up++) {
        const parent = await read(key).catch(() => undefined); // it may be deleted
        if (!parent?.parent) break;
        key = parent.parent;
      }
      return key;
    },
  });
  if (!top.data || (!of.parent && !children(of).length)) return null;
  return <Card title={t.subAgents}><ul className="tree"><Branch at={top.data} here={of.key} depth={0} /></ul></Card>;
}

function Branch({ at, here, depth }: { at: string; here: string; depth: number }) {
  const t = useTexts();
  const found = useQuery({ queryKey: ["session-branch", at], queryFn: () => read(at) });
  const below = depth < deepest ? children(found.data).slice(0, 50) : [];
  const name = found.data?.title || at;
  return (
    <li>
      {at === here ? <b aria-current="page">{name}</b> : found.error ? <span className="soft">{at}: {found.error.message}</span> : <Link to={`/sessions/${encodeURIComponent(at)}`}>{name}</Link>}{" "}
      {found.data && <span className="soft">{found.data.messages} {t.messages} · {found.data.phase}</span>}
      {below.length > 0 && <ul>{below.map((key) => <Branch key={key} at={key} here={here} depth={depth + 1} />)}</ul>}
    </li>
  );
}
