import { answer, api, type Schemas } from "../api";
import { straight } from "./straight";

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

// quoted is a text as a quotation, which ends with it, whatever it leaves open. Outside of code, pictures and HTML in it
// stay text, so that the file loads nothing. Only code without an indentation counts as such: readers differ about others.
function quoted(text: string) {
  let fence = "";
  return text.split("\n").map((line) => {
    const [, run] = (fence ? /^ {0,3}(`{3,}|~{3,})\s*$/ : /^(`{3,}(?=[^`]*$)|~{3,})/).exec(line) ?? [];
    const edge = run && run.startsWith(fence);
    if (edge) fence = fence ? "" : run;
    return "> " + (fence || edge ? line : line.replace(/!(?=\[)|<(?=[a-z/!?])/gi, "\\$&"));
  }).join("\n");
}

// plain is a name in a line of Markdown.
const plain = (text: string) => straight(text).replace(/\s+/g, " ").replace(/[[<`!*#|\\]/g, "\\$&");

// asMarkdown writes a conversation for people: headings, texts, calls and results.
export function asMarkdown(c: Conversation) {
  const parts = [`# ${plain(c.title || c.key)}`, `${plain(c.key)} · ${c.created} – ${c.updated}`];
  if (c.parent) parts.push(`↑ ${plain(c.parent)}`);
  for (const m of c.said ?? []) {
    parts.push(`## ${plain([m.role, m.user, m.channel, m.time].filter(Boolean).join(" · "))}`);
    if (m.text) parts.push(quoted(m.text));
    if (m.note) parts.push(fenced(m.note));
    for (const call of m.calls ?? []) parts.push(`**${plain(call.name)}**`, fenced(JSON.stringify(call.arguments ?? {}, null, 2), "json"));
    if (m.result) parts.push(fenced(m.result.text ?? ""));
    for (const f of m.files ?? []) parts.push(`- ${plain(`${f.name} ${f.media_type ?? ""} ${f.sha256 ?? ""}`.trim())}`);
  }
  return parts.join("\n\n") + "\n";
}
