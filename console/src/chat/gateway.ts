import { answer, api, Refused, type Schemas } from "../api";
import { type Call, type File, type Item, newID, type Other, remember, type Said, Talk } from "./talk";

type Event = Schemas["Event"];

// Gateway talks over the gateway's own API: with the person's key, as who signed in to the console, or
// where no key is needed without one.
export class Gateway extends Talk {
  private session = remember.get("session") || newID();
  private running?: AbortController;
  private turns = 0;
  private who?: Schemas["Whoami"];
  private looking?: ReturnType<typeof setInterval>;

  constructor() {
    super();
    remember.set("session", this.session);
    api.use({
      onRequest({ request }) {
        const key = remember.get("key");
        if (key) {
          request.headers.set("Authorization", "Bearer " + key);
          request.headers.delete("Etui-Console");
        }
        return request;
      },
    });
  }

  async start() {
    this.change({ note: "connecting", files: true, error: undefined });
    try {
      const who = await answer(api.POST("/api/whoami", { body: this.about() }));
      const models = await answer(api.GET("/v1/models"));
      const agents = ((models as { data?: { id: string }[] }).data ?? []).map((m) => m.id);
      this.change({ agents, agent: agents.includes(this.state.agent) ? this.state.agent : "", note: "" });
      await this.readSkills();
      this.who = who;
      if (this.state.items.length === 0) await this.readPast();
      clearInterval(this.looking);
      this.looking = setInterval(() => void this.look().catch(() => {}), 4_000);
    } catch (e) {
      if (e instanceof Refused && (e.status === 401 || e.status === 403)) {
        this.change({ note: "key", error: remember.get("key") && e.message });
      } else {
        this.change({ note: "lost", error: (e as Error).message });
        setTimeout(() => this.start(), 5_000);
      }
    }
  }

  // about finds the conversation.
  private about() {
    const language = document.documentElement.lang.startsWith("zh") ? "zh" : "en";
    return { text: "", session: this.session, agent: this.state.agent || undefined, language } as Schemas["Message"];
  }

  private async readSkills() {
    const sets = await answer(api.GET("/api/skills", { params: { query: { agent: this.state.agent || undefined } } }));
    this.change({ skills: (sets.skills ?? []).map((s) => ({ name: s.name, title: s.description ?? "" })) });
  }

  // waiting returns what waits for the person, and what waits of the person's, where the caller may read it.
  private async waiting(): Promise<Other[] | undefined> {
    const who = this.who!;
    if (who.kind !== "person") return;
    const { data } = await api.GET("/api/approvals", { params: { query: { user: who.client.for_others ? who.user : undefined } } });
    return data as Other[] | undefined;
  }

  // here returns those of this conversation.
  private here(waits: Other[] | undefined) {
    return waits?.filter((a) => a.session === this.who!.session);
  }

  // look notices that somebody else answered what waits here, in the console perhaps: its outcome came. And it
  // notices that others ask the person.
  private async look() {
    if (this.state.works || document.hidden) return;
    const shown = this.state.items.flatMap((i) => i.awaits ?? []);
    if (!shown.length && this.who!.kind !== "person") return;
    const waits = await this.waiting();
    if (this.state.works) return;
    const still = (this.here(waits) ?? shown).map((a) => a.id);
    if (shown.some((a) => !still.includes(a.id))) await this.readPast();
    if (!waits) return;
    const now = waits.filter((a) => a.session !== this.who!.session && !a.theirs);
    const known = this.state.others;
    const kept = known.map((o) => ({ ...o, over: !now.some((a) => a.id === o.id) }));
    const others = [...kept, ...now.filter((a) => !known.some((o) => o.id === a.id))].slice(-20);
    if (JSON.stringify(others) !== JSON.stringify(known)) this.change({ others });
  }

  decide(about: Other, approved: boolean) {
    const user = this.who!.client.for_others ? this.who!.user : undefined;
    answer(api.POST("/api/approvals/{id}", { params: { path: { id: about.id! } }, body: { user, approved } as never })).then(
      () => this.change({ others: this.state.others.filter((o) => o.id !== about.id) }),
      (e) => this.change({ others: this.state.others.map((o) => (o.id === about.id ? { ...o, failed: (e as Error).message } : o)) }),
    );
  }

  // readPast shows what was said before, where the caller may read it.
  private async readPast() {
    const who = this.who!;
    if (!remember.get("said")) return;
    const path = { key: who.session };
    const found = who.client.role
      ? await api.GET("/admin/sessions/{key}", { params: { path } })
      : who.kind === "person" ? await api.GET("/api/sessions/{key}", { params: { path, query: { user: who.client.for_others ? who.user : undefined } } }) : undefined;
    if (!found?.data) return;
    let last: Item | undefined;
    let turns = 0;
    const items: Item[] = [];
    for (const m of found.data.said ?? []) {
      if (m.role === "user") {
        if (!m.text && !m.files?.length) continue;
        items.push({ id: newID(), from: "you", text: m.text ?? "", files: m.files?.map((f) => ({ name: f.name })) });
        items.push((last = { id: newID(), from: "agent", text: "", calls: [], number: ++turns }));
      } else if (last && m.role === "assistant") {
        last.text = [last.text, m.text].filter(Boolean).join("\n\n"); // the outcome of a call that waited comes by itself
        last.calls!.push(...(m.calls ?? []).map((c): Call => ({ id: c.id, name: c.name, arguments: c.arguments })));
      } else if (last && m.result) {
        const call = last.calls!.find((c) => c.id === m.result!.call_id && !c.result);
        if (call) call.result = m.result;
      }
    }
    if (last) last.awaits = this.here(await this.waiting());
    this.turns = turns;
    this.change({ items });
  }

  say(text: string, files: File[]) {
    this.set(newID(), { from: "you", text, files: files.map((f) => ({ name: f.name, url: f.type.startsWith("image/") ? `data:${f.type};base64,${f.data}` : undefined })) });
    const id = newID();
    this.set(id, { works: true, calls: [], number: text.startsWith("/") ? 0 : ++this.turns });
    if (text.startsWith("/")) void this.command(id, text);
    else void this.run(id, { ...this.about(), text, skill: this.state.skill || undefined, files: files.map((f) => ({ name: f.name, media_type: f.type, data: f.data })) });
  }

  private async command(id: string, text: string) {
    try {
      const said = await answer(api.POST("/api/command", { body: { ...this.about(), text } }));
      if (said.done) this.set(id, { text: said.reply, works: false });
      else await this.run(id, { ...this.about(), text });
    } catch (e) {
      this.set(id, { failed: (e as Error).message, works: false });
    }
  }

  answer(item: Item, about: Schemas["SessionAwait"], said: Said) {
    this.set(item.id, { works: true, awaits: item.awaits?.filter((a) => a.id !== about.id) });
    const message = { ...this.about(), answers: [{ call: about.call, id: about.id, ...said }] } as Schemas["Message"];
    void this.run(item.id, message).then((failed) => failed && this.set(item.id, { awaits: item.awaits })); // it waits still
  }

  // run sends a message, shows in an item what comes, and reports whether it failed. A person who stops
  // it, or leaves, ends the turn.
  private async run(id: string, message: Schemas["Message"]) {
    const running = (this.running = new AbortController());
    remember.set("said", "1");
    this.set(id, { failed: undefined });
    this.change({ works: true, error: undefined });
    const of = () => this.state.items.find((i) => i.id === id)!;
    const call = (which: string, to: Partial<Call>) => this.set(id, { calls: of().calls?.map((c) => (c.id === which && !c.result ? { ...c, ...to } : c)) });
    try {
      const { response, error } = await api.POST("/api/chat", { body: { ...message, stop_with_connection: true } as never, parseAs: "stream", signal: running.signal });
      if (!response.ok) throw new Refused(response.status, (error as Schemas["WireProblem"] | undefined)?.error?.message ?? response.statusText);
      for await (const e of lines(response.body!)) {
        if (e.text) this.set(id, { text: of().text + e.text });
        // A call that somebody approved comes again.
        if (e.call && !of().calls?.some((c) => c.id === e.call!.id && !c.result)) this.set(id, { calls: [...(of().calls ?? []), { id: e.call.id, name: e.call.name, arguments: e.call.arguments }] });
        if (e.progress) call(e.progress.call_id, { progress: e.progress.text });
        if (e.result) call(e.result.call_id ?? "", { result: e.result });
        if (e.error) this.set(id, { failed: e.error });
        if (e.done) {
          // What says in words that a call waits came as a text, too; the page has buttons for it.
          const said = of().text, waits = !!e.done.awaits?.length;
          const text = !waits ? e.done.reply || said : said.endsWith(e.done.reply) ? said.slice(0, -e.done.reply.length) : said;
          this.set(id, { text, awaits: e.done.awaits ?? [], note: e.done.stopped ? "stopped" : undefined });
        }
      }
    } catch (e) {
      if (running.signal.aborted) this.set(id, { note: "stopped" });
      else if (e instanceof Refused && e.status === 401) this.change({ note: "key", error: e.message });
      else this.set(id, { failed: (e as Error).message });
    }
    this.set(id, { works: false });
    if (this.running === running) this.change({ works: false });
    return !!this.state.items.find((i) => i.id === id)?.failed;
  }

  stop() {
    this.running?.abort();
  }

  fresh() {
    this.stop();
    this.session = newID();
    this.turns = 0;
    remember.set("session", this.session);
    remember.set("said", "");
    this.change({ items: [], others: [] });
  }

  choose(agent: string, skill: string) {
    const other = agent !== this.state.agent;
    if (other) this.fresh(); // each agent has conversations of its own
    this.change({ agent, skill: other ? "" : skill });
    if (other) void this.readSkills().catch(() => {});
  }

  async why(item: Item) {
    const back = this.turns - (item.number ?? 0);
    const turns = await answer(api.POST("/api/why", { body: { ...this.about(), turns: back + 1, own: true } as never }));
    return (turns as { selection: Schemas["SelectionCompact"] }[] | null)?.[back]?.selection;
  }

  enter(key: string) {
    remember.set("key", key);
    this.fresh();
    void this.start();
  }
}

// lines reads a stream of lines of JSON.
async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<Event> {
  const reader = body.pipeThrough(new TextDecoderStream() as never).getReader() as ReadableStreamDefaultReader<string>;
  for (let rest = ""; ; ) {
    const { value, done } = await reader.read();
    rest += value ?? "";
    for (let end; (end = rest.indexOf("\n")) >= 0; rest = rest.slice(end + 1)) if (rest.slice(0, end).trim()) yield JSON.parse(rest.slice(0, end));
    if (done) return;
  }
}
