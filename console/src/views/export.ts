import { answer, api, type Schemas } from "../api";

type Conversation = Schemas["InspectConversation"];

// whole reads all messages of a conversation, page by page, at most 100 of them.
export async function whole(key: string): Promise<Conversation> {
  const page = (skip: number) => answer(api.GET("/admin/sessions/{key}", { params: { path: { key }, query: { skip: String(skip), limit: "1000" } } }));
  const all = await page(0);
  const said = [...(all.said ?? [])];
  for (let read = 1; read < 100 && said.length < all.messages; read++) {
    const next = (await page(said.length)).said ?? [];
    if (!next.length) break;
    said.push(...next);
  }
  return { ...all, said };
}

// fenced puts a text between fences that are longer than any in it.
function fenced(text: string, language = "") {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

// asMarkdown writes a conversation for people: headings, texts, calls and results.
export function asMarkdown(c: Conversation) {
  const parts = [`# ${(c.title || c.key).replace(/\s+/g, " ")}`, `\`${c.key}\` · ${c.created} – ${c.updated}`];
  if (c.parent) parts.push(`↑ \`${c.parent}\``);
  for (const m of c.said ?? []) {
    parts.push(`## ${[m.role, m.user, m.channel, m.time].filter(Boolean).join(" · ")}`);
    if (m.text) parts.push(m.text);
    if (m.note) parts.push(m.note.replace(/^/gm, "> "));
    for (const call of m.calls ?? []) parts.push(`**${call.name}**`, fenced(JSON.stringify(call.arguments ?? {}, null, 2), "json"));
    if (m.result) parts.push(fenced(m.result.text ?? ""));
    for (const f of m.files ?? []) parts.push(`- ${f.name} ${f.media_type ?? ""} ${f.sha256 ?? ""}`.trim());
  }
  return parts.join("\n\n") + "\n";
}
