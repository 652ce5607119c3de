import type { Schemas } from "../api";

export type File = { name: string; type: string; data: string }; // base64

export type Call = { id: string; name: string; arguments: unknown; progress?: string; result?: Schemas["ChatResult"] };

export type Button = { label: string; text: string };

// Said is an answer to what waits.
export type Said = { approved: boolean; withdrawn?: boolean; lasts?: string; text?: string };

// Item is something that was said, by the person or the agent.
export type Item = {
  id: string;
  from: "you" | "agent";
  text: string;
  files?: { name: string; url?: string }[];
  calls?: Call[];
  awaits?: Schemas["SessionAwait"][];
  buttons?: Button[];
  note?: string;
  failed?: string;
  works?: boolean;
  // turns is how many turns began with this one, counted from the newest; 0 means that nothing tells why.
  number?: number;
  // asks and agent are what a channel's answer belongs to: the person's message, and whom it was for.
  asks?: string;
  agent?: string;
  // file is one that the agent sends; its bytes come by Talk.load.
  file?: { name: string; media_type?: string; size: number };
};

// State is everything that the page shows.
export type State = {
  items: Item[];
  works: boolean;
  note: "" | "connecting" | "lost" | "ended" | "key";
  error?: string;
  files: boolean; // whether files can be sent
  agents: string[];
  agent: string;
  skills: { name: string; title: string }[];
  skill: string;
  // others are the calls in other conversations that wait for the person; over are those whose wait has ended.
  others: Other[];
};

// Other is a call that somebody asks for in another conversation.
export type Other = Schemas["ApprovalApproval"] & { over?: boolean; failed?: string };

// Talk is a conversation with an agent. There is one for each protocol that the page speaks.
export abstract class Talk {
  state: State = { items: [], works: false, note: "", files: false, agents: [], agent: "", skills: [], skill: "", others: [] };
  private readonly listeners = new Set<() => void>();

  subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  };

  protected change(to: Partial<State>) {
    this.state = { ...this.state, ...to };
    this.listeners.forEach((l) => l());
  }

  // set changes an item, or appends it.
  protected set(id: string, to: Partial<Item>) {
    const known = this.state.items.some((i) => i.id === id);
    const items = known ? this.state.items.map((i) => (i.id === id ? { ...i, ...to } : i)) : [...this.state.items, { id, from: "agent", text: "", ...to } as Item];
    this.change({ items });
  }

  abstract start(): void;
  // say says something, to the agent that is chosen unless another is named.
  abstract say(text: string, files: File[], agent?: string): void;
  abstract stop(): void;
  // fresh begins a new conversation.
  abstract fresh(): void;
  // answer decides about a call that waits, or answers its question.
  answer?(item: Item, about: Schemas["SessionAwait"], said: Said): void;
  // decide answers a call of another conversation.
  decide?(about: Other, approved: boolean): void;
  // choose is for what comes next.
  choose?(agent: string, skill: string): void;
  // load gives the bytes of an item's file.
  load?(item: Item): Promise<Blob>;
  // why says what an answer's message got.
  why?(item: Item): Promise<Schemas["SelectionCompact"] | undefined>;
  // enter takes an API key; empty forgets it.
  enter?(key: string): void;
}

// remember keeps a text in this tab. Where a browser forbids that, as for framed pages, nothing is kept.
export const remember = {
  get(name: string) {
    try { return sessionStorage.getItem("etui." + name) ?? ""; } catch { return ""; }
  },
  set(name: string, value: string) {
    try { sessionStorage.setItem("etui." + name, value); } catch { /* it is asked for again */ }
  },
};

// newID is random also where a page has no secure context.
export const newID = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join("");
