import { autocompletion, type Completion, type CompletionContext } from "@codemirror/autocomplete";
import { hoverTooltip } from "@codemirror/view";

// Schema is what this reads of the configuration's JSON schema.
type Schema = { description?: string; default?: unknown; enum?: string[]; type?: string; properties?: Record<string, Schema>; items?: Schema; additionalProperties?: Schema | boolean };

// open returns the keys and list items that a text leaves open at its end, as in models, -, price; a list item is "-".
export function open(text: string): string[] {
  const lines = text.split("\n");
  const last = lines.pop() ?? "";
  const keyed = /^(\s*)((?:- +)*)(?:([\w.-]+|"[^"]*"):)?(.*)$/;
  const path: string[] = [];
  let [, space, dashes, key, rest] = keyed.exec(last)!;
  // What braces of this line leave open.
  const inner: string[] = [];
  const flow = (said: string) => {
    for (const [, brace, name] of said.matchAll(/([{}[\]])|([\w.-]+):(?=\s*[{[])/g)) {
      if (name) inner.push(name);
      else if (brace === "{" || brace === "[") inner.push(brace);
      else { inner.splice(inner.lastIndexOf(brace === "}" ? "{" : "[")); if (/^\w/.test(inner.at(-1) ?? "")) inner.pop(); }
    }
  };
  const braced = rest.includes("{") || rest.includes("[");
  if (braced) {
    if (key) path.unshift(key);
    flow(rest);
  }
  for (const part of inner) if (part === "[") path.push("-"); else if (part !== "{") path.push(part);
  for (let i = 0; i < dashes.trim().split(/\s+/).filter(Boolean).length; i++) path.unshift("-");
  let indent = space.length + (dashes ? 0.5 : 0), item = !!dashes;
  for (const line of lines.reverse()) {
    if (!line.trim() || line.trim().startsWith("#")) continue;
    const [, s, d, k] = keyed.exec(line)!;
    const at = s.length + d.length;
    if (at < indent && k || item && d === "" && s.length <= indent && k) {
      path.unshift(k!);
      if (d) path.unshift("-");
      indent = s.length + (d ? 0.5 : 0);
      item = !!d;
    } else if (d && s.length < indent && at === indent) {
      path.unshift("-");
      indent = s.length + 0.5;
      item = true;
    }
    if (indent === 0) break;
  }
  return path;
}

// find returns the schema at a path.
function find(schema: Schema | undefined, path: string[]): Schema | undefined {
  for (const part of path) {
    const all: Schema | undefined = schema;
    schema = part === "-" ? all?.items : (all?.properties?.[part] ?? (typeof all?.additionalProperties === "object" ? all.additionalProperties : undefined));
  }
  return schema;
}

const says = (s: Schema) => [s.description, s.enum && s.enum.join(", "), s.default !== undefined && s.default !== "" && `= ${JSON.stringify(s.default)}`].filter(Boolean).join("\n");

// keys completes the keys of the configuration and their values, and says under the pointer what a key means.
export function keys(read: () => Promise<unknown>) {
  let loaded: Promise<Schema | undefined> | undefined;
  const schema = () => (loaded ??= (read() as Promise<Schema>).catch(() => undefined));
  const complete = async (c: CompletionContext) => {
    const word = c.matchBefore(/[\w.-]*/)!;
    const line = c.state.doc.lineAt(c.pos);
    const before = line.text.slice(0, word.from - line.from);
    if (/#/.test(before)) return null;
    const value = /([\w.-]+):\s*(\[[^\]]*)?$/.exec(before);
    if (!value && !/(^\s*(- +)*|[{,]\s*)$/.test(before)) return null;
    if (!c.explicit && word.from === word.to) return null;
    const path = open(c.state.sliceDoc(0, word.from).replace(value ? /[\w.-]+:\s*(\[[^\]]*)?$/ : /$^/, ""));
    const at = find(await schema(), value ? [...path, value[1]] : path);
    const options: Completion[] = value
      ? ((at?.enum ?? at?.items?.enum) ?? (at?.type === "boolean" ? ["true", "false"] : [])).map((label) => ({ label, type: "constant" }))
      : Object.entries(at?.properties ?? {}).map(([label, s]) => ({ label, apply: label + (s.properties || s.items?.properties ? ":" : ": "), type: "property", info: () => box(says(s)) }));
    return options.length ? { from: word.from, options, validFor: /^[\w.-]*$/ } : null;
  };
  const hint = hoverTooltip(async (view, pos) => {
    const line = view.state.doc.lineAt(pos);
    for (const m of line.text.matchAll(/([\w.-]+):/g)) {
      const from = line.from + m.index, to = from + m[1].length;
      if (pos < from || pos > to) continue;
      const found = find(await schema(), [...open(view.state.sliceDoc(0, from)), m[1]]);
      return found?.description ? { pos: from, end: to, above: true, create: () => ({ dom: box(says(found)) }) } : null;
    }
    return null;
  });
  return [autocompletion({ override: [complete] }), hint];
}

function box(text: string) {
  const dom = document.createElement("div");
  dom.className = "cm-hint";
  dom.textContent = text;
  return dom;
}
