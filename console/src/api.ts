import createClient from "openapi-fetch";
import type { components, paths } from "./api.gen";
import { chosen } from "./texts";

export type Schemas = components["schemas"];

// The session's cookie goes with each request; scripts cannot read it.
export const api = createClient<paths>({ baseUrl: "/", credentials: "same-origin" });

// Refused says what the gateway answered, in its own words.
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

// Every port of this host gets and sets the cookie. The proof stays at this origin, and counts beside it.
const proof = "etui.proof";
api.use({
  onRequest({ request }) {
    const kept = localStorage.getItem(proof);
    if (kept) request.headers.set("Etui-Console", kept);
    request.headers.set("Accept-Language", chosen());
    return request;
  },
});

// signIn signs in with the secret of a link, an operator's key, or what a provider sent back.
export async function signIn(by: Schemas["SignIn"]) {
  const who = await answer(api.POST("/console/session", { body: by }));
  localStorage.setItem(proof, who.proof ?? "");
}

type Result<T> = { data?: T; error?: unknown; response: Response };

// answer returns what a request got, or throws why it was refused.
export async function answer<T>(asked: Promise<Result<T>>): Promise<T> {
  const { data, error, response } = await asked;
  if (!response.ok) {
    const said = (error as Schemas["WireProblem"] | undefined)?.error?.message;
    throw new Refused(response.status, said ?? `${response.status} ${response.statusText}`);
  }
  return data as T;
}
