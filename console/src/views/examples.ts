// examples are what can be put into etui.yaml: under which key, and what stands below it.
export const examples: Record<string, { key: string; below: string }> = {
  model: { key: "models", below: "  - name: main\n    provider: openai\n    model: gpt-5.4-mini\n    api_key: ${OPENAI_API_KEY}\n" },
  tools: { key: "demo", below: "" },
  channel: { key: "channels", below: "  - type: telegram\n    token: ${TELEGRAM_TOKEN}\n    pairing: true\n" },
  rule: { key: "policy", below: "  rules:\n    - name: look-first\n      ask: [risk:destructive]\n      reason: somebody should look first\n" },
  people: { key: "users", below: "  - name: ann\n    identities: [telegram:4711]\n    roles: [admin]\n" },
};

// placed says where an example goes in a text, and as what: below its key where that stands in a
// line of its own, else at the end.
export function placed(text: string, name: string): { from: number; insert: string } {
  const { key, below } = examples[name];
  const at = below ? new RegExp(`^${key}:[ \\t]*(#.*)?(\\n|$)`, "m").exec(text) : null;
  if (at) {
    const from = at.index + at[0].length;
    const [first, ...rest] = below.split(/(?<=\n)/);
    // The list that the example begins with may stand there already.
    const inner = rest.length && /^ +\w+:\n$/.test(first) ? text.slice(from).split(/^(?=[^\s#])/m, 1)[0].search(new RegExp(`^${first.trimEnd()}[ \\t]*\\n`, "m")) : -1;
    if (inner >= 0) return { from: text.indexOf("\n", from + inner) + 1, insert: rest.join("") };
    return { from, insert: (at[2] ? "" : "\n") + below };
  }
  return { from: text.length, insert: (text && !text.endsWith("\n") ? "\n" : "") + (below ? `${key}:\n${below}` : `${key}: true\n`) };
}
