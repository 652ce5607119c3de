import type { Schemas } from "../api";
import { type Button, type File, type Item, newID, remember, Talk } from "./talk";

type Sent = {
  type: string; id?: string; seq?: number; from?: string; client?: string; text?: string; files?: string[]; buttons?: Button[]; code?: string;
  reply_to?: string; agent?: string; agents?: string[]; file?: Item["file"]; why?: Schemas["SelectionCompact"];
  calls?: { id: string; name: string; arguments?: string; done?: boolean; failed?: boolean; result?: string }[];
};

// Socket talks over the protocol of a web channel, see docs/channels/web.md: as the person of a token,
// which comes behind #, or as a guest.
export class Socket extends Talk {
  private socket?: WebSocket;
  private since = 0;
  private pause = 1_000;
  private asking: Promise<unknown> = Promise.resolve();
  private working?: ReturnType<typeof setTimeout>;
  private ended = false;
  private readonly waiting = new Map<string, string>(); // what was said and is not acknowledged
  private readonly pictures = new Map<string, (string | undefined)[]>(); // that this page has sent, by what was said
  private readonly kept = "token " + location.pathname; // until the tab is closed: people load pages again
  private readonly chosen = "agent " + location.pathname;
  private readonly token = new URLSearchParams(location.hash.slice(1)).get("token") || remember.get(this.kept);

  constructor() {
    super();
    if (this.token) remember.set(this.kept, this.token);
    if (location.hash) history.replaceState(null, "", location.pathname);
  }

  start() {
    this.change({ note: "connecting", files: !!this.token });
    this.connect();
  }

  // In another site's page, a browser keeps only a cookie that is made for that.
  private get guest() {
    return this.token ? "" : parent === window ? "?guest" : "?guest&framed";
  }

  private connect() {
    const to = new URL(location.pathname, location.href);
    to.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    to.search = this.guest;
    const socket = (this.socket = new WebSocket(to));
    socket.onopen = () => socket.send(JSON.stringify({ type: "hello", since: this.since, ...(this.token && { token: this.token }) }));
    socket.onmessage = (e) => this.take(JSON.parse(e.data));
    socket.onclose = () => {
      if (this.ended) return;
      this.change({ note: "lost" });
      setTimeout(() => this.connect(), this.pause);
      this.pause = Math.min(2 * this.pause, 60_000);
    };
  }

  private take(m: Sent) {
    switch (m.type) {
      case "welcome":
        this.pause = 1_000;
        this.change({ note: "", error: undefined, agents: m.agents ?? [], agent: m.agents?.find((a) => a === remember.get(this.chosen)) ?? "" });
        this.waiting.forEach((said) => this.socket?.send(said));
        break;
      case "ack":
        this.waiting.delete(m.id!);
        break;
      case "typing":
        this.works(6_000);
        break;
      case "message":
        this.since = Math.max(this.since, m.seq ?? 0);
        this.set(m.id!, { from: m.from === "agent" ? "agent" : "you", text: m.text ?? "", files: m.files?.map((name, i) => ({ name, url: this.pictures.get(m.client ?? "")?.[i] })), buttons: m.buttons, file: m.file, ...this.about(m) });
        this.sort();
        if (m.from === "agent") this.works(this.state.works ? 1_500 : 0);
        break;
      case "calls":
        this.since = Math.max(this.since, m.seq ?? 0);
        this.set(m.id!, {
          from: "agent",
          calls: m.calls!.map((c) => ({ id: c.id, name: c.name, arguments: read(c.arguments), progress: "…", result: c.done ? { text: c.result ?? "", failed: c.failed } : undefined })),
        });
        this.sort();
        break;
      case "error":
        this.ended = ["expired", "token", "origin"].includes(m.code!);
        if (m.code === "bad") this.waiting.delete(m.id!);
        console.info(m.text); // for who runs the site
        if (this.ended) remember.set(this.kept, "");
        this.change({ error: ["busy", "fast", "bad", "again"].includes(m.code!) ? m.code : undefined, note: this.ended ? "ended" : this.state.note });
    }
  }

  // about says what a message belongs to. Commands are answered without tools, but those that let a call run
  // or not go on with what was asked before.
  private about(m: Sent): Partial<Item> {
    if (m.from !== "agent") return { asks: m.client, agent: m.agent };
    const said = this.state.items.filter((i) => i.from === "you");
    let asked = said.find((i) => i.asks === m.reply_to);
    if (asked && /^\/(approve|answer|deny|withdraw)\b/.test(asked.text)) asked = said.findLast((i) => Number(i.id) < Number(asked!.id) && !i.text.startsWith("/"));
    return { asks: asked?.asks, agent: asked?.agent, number: asked && !asked.text.startsWith("/") ? 1 : 0 };
  }

  // ask posts one question after the other: pictures come when their turn is.
  private ask(type: string, id: string): Promise<Response> {
    const post = async (): Promise<Response> => {
      const r = await fetch(location.pathname + this.guest, { method: "POST", credentials: "include", body: JSON.stringify({ type, id, ...(this.token && { token: this.token }) }) });
      if (r.status !== 429) return r;
      await new Promise((later) => setTimeout(later, 2_000));
      return post();
    };
    const answer = this.asking.then(post, post);
    this.asking = answer.catch(() => {});
    return answer;
  }

  async load(item: Item) {
    const r = await this.ask("file", item.id);
    if (!r.ok) throw new Error(String(r.status));
    return new Blob([await r.arrayBuffer()], { type: item.file!.media_type });
  }

  async why(item: Item) {
    const r = await this.ask("why", item.asks!);
    return r.ok ? ((await r.json()) as Sent).why : undefined;
  }

  choose(agent: string) {
    remember.set(this.chosen, agent);
    this.change({ agent });
  }

  private sort() {
    this.change({ items: this.state.items.toSorted((a, b) => Number(a.id) - Number(b.id)) });
  }

  // works shows for so long that an answer is being made.
  private works(time: number) {
    clearTimeout(this.working);
    this.change({ works: time > 0 });
    if (time > 0) this.working = setTimeout(() => this.works(0), time);
  }

  say(text: string, files: File[], agent = this.state.agent) {
    const id = newID();
    this.waiting.set(id, JSON.stringify({ type: "say", id, text, ...(agent && { agent }), files: files.map((f) => ({ name: f.name, url: `data:${f.type};base64,${f.data}` })) }));
    this.pictures.set(id, files.map((f) => (f.type.startsWith("image/") ? `data:${f.type};base64,${f.data}` : undefined)));
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(this.waiting.get(id)!);
    this.works(120_000);
  }

  stop() {
    this.say("/stop", []);
  }

  fresh() {
    this.say("/new", []);
  }
}

// read reads arguments, which are no JSON if they were cut.
function read(text = ""): unknown {
  try { return JSON.parse(text); } catch { return text; }
}
