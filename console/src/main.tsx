import { QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query";
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Link, Outlet, RouterProvider, useNavigate } from "@tanstack/react-router";
import { StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { answer, api, Refused, type Schemas, signIn } from "./api";
import { Door } from "./door";
import { Failure } from "./parts";
import "./style.css";
import { chosen, LanguageContext, useTexts, useWord } from "./texts";
import { Live } from "./views/live";

const views = ["live", "what-if", "tools", "skills", "ranking", "workflows", "sessions", "approvals", "usage", "rules", "schedule", "channels", "people", "keys", "audit"] as const;
const titles = { "what-if": "whatIf", workflows: "flows" } as const;

const secretOf = (hash: string) => /^#([A-Z2-7]{20,})$/.exec(hash)?.[1];

// begin signs in with the secret at the end of a link, which the browser does not send by itself, or
// with what a provider sent back. The address forgets both first.
async function begin() {
  if (location.pathname === "/console/back") {
    const back = new URLSearchParams(location.search);
    const said = (name: string) => back.get(name) ?? "";
    history.replaceState(null, "", "/console/");
    if (!said("code")) throw new Error(said("error").replace(/[^a-z_]/g, "").slice(0, 40) || "?"); // a text of anybody
    return signIn({ code: said("code"), state: said("state"), issuer: said("iss") });
  }
  const secret = secretOf(location.hash);
  if (!secret) return;
  history.replaceState(null, "", location.pathname);
  await signIn({ secret });
}
// A link that is opened in a tab with the page changes nothing but the end of the address.
addEventListener("hashchange", () => secretOf(location.hash) && location.reload());
const begun = begin().catch((error: Error) => error);

function Shell() {
  const t = useTexts();
  const word = useWord();
  const [open, setOpen] = useState(false);
  const session = useQuery({
    queryKey: ["session"],
    queryFn: async () => {
      const error = await begun;
      const who = await answer(api.GET("/console/session"));
      return { who, error };
    },
  });
  if (session.error) return <div className="door"><Failure error={session.error} again={() => session.refetch()} /></div>;
  if (!session.data) return <p className="door soft">{t.loading}</p>;
  if (!session.data.who.name) return <Door ways={session.data.who} error={session.data.error as Error | undefined} />;
  return (
    <div className="shell">
      <a className="skip" href="#main">{t.menu} ↓</a>
      <header className="side">
        <div className="brand">
          <span className="row"><img src="/console/icon.svg" alt="" /> etui</span>
          <button className="open" aria-expanded={open} onClick={() => setOpen(!open)}>{t.menu}</button>
        </div>
        <nav data-open={open} aria-label={t.menu}>
          {views.map((view) => (
            <Link key={view} to={view === "live" ? "/" : `/${view}`} activeOptions={{ exact: view === "live" }} onClick={() => setOpen(false)}>
              {t[titles[view as keyof typeof titles] ?? (view as "live")]}
            </Link>
          ))}
          {session.data.who.role !== "viewer" && <a href="/chat" target="_blank" rel="noopener">{t.chat_.title} ↗</a>}
          <p className="soft">{session.data.who.name} · {word(session.data.who.role)}</p>
          <Choices />
        </nav>
      </header>
      <main className="main" id="main" tabIndex={-1}><Outlet /></main>
    </div>
  );
}

// leave signs out here, and at the provider by which the person came in.
async function leave() {
  const { data } = await api.DELETE("/console/session");
  const to = (data as Schemas["SignedOut"] | undefined)?.url;
  if (to) location.assign(to);
  else location.reload();
}

// Choices are the language and the colours, kept in this browser.
function Choices() {
  const t = useTexts();
  const dark = () => {
    const now = document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    localStorage.theme = document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
  };
  return (
    <div className="row">
      <button onClick={() => dispatchEvent(new Event("etui:language"))} lang={t.language === "中文" ? "zh" : "en"}>{t.language}</button>
      <button onClick={dark}>{t.theme}</button>
      <button onClick={leave}>{t.signOut}</button>
    </div>
  );
}

const root = createRootRoute({ component: Shell, notFoundComponent: Lost });

function Lost() {
  const go = useNavigate();
  useEffect(() => void go({ to: "/" }), [go]);
  return null;
}

const route = (path: string, load: () => Promise<any>, name: string) =>
  createRoute({ getParentRoute: () => root, path, component: lazyRouteComponent(load, name) });

const router = createRouter({
  basepath: "/console",
  defaultErrorComponent: ({ error, reset }) => <Failure error={error as Error} again={reset} />,
  routeTree: root.addChildren([
    createRoute({ getParentRoute: () => root, path: "/", component: Live }),
    route("/what-if", () => import("./views/whatif"), "WhatIf"),
    route("/tools", () => import("./views/tools"), "Tools"),
    route("/tools/$name", () => import("./views/tools"), "Tool"),
    route("/skills", () => import("./views/skills"), "Skills"),
    route("/ranking", () => import("./views/ranking"), "Ranking"),
    route("/workflows", () => import("./views/workflows"), "Workflows"),
    route("/people", () => import("./views/people"), "People"),
    route("/people/$name", () => import("./views/people"), "Person"),
    route("/sessions", () => import("./views/sessions"), "Sessions"),
    route("/sessions/$key", () => import("./views/sessions"), "Session"),
    route("/approvals", () => import("./views/lists"), "Approvals"),
    route("/usage", () => import("./views/usage"), "Usage"),
    route("/rules", () => import("./views/rules"), "Rules"),
    route("/schedule", () => import("./views/lists"), "Schedule"),
    route("/channels", () => import("./views/lists"), "Channels"),
    route("/keys", () => import("./views/lists"), "Keys"),
    route("/audit", () => import("./views/lists"), "Audit"),
  ]),
});

const client = new QueryClient({
  defaultOptions: {
    // A browser that has no network reaches the gateway of its own machine all the same.
    mutations: { networkMode: "always" },
    queries: {
      networkMode: "always",
      staleTime: 2_000,
      // A sign-in that ended shows the door again.
      retry: (count, error) => !(error instanceof Refused && error.status < 500) && count < 3,
    },
  },
});
client.getQueryCache().subscribe((event) => {
  const error = event.query.state.error;
  if (event.type === "updated" && error instanceof Refused && error.status === 401 && event.query.queryKey[0] !== "session") client.invalidateQueries({ queryKey: ["session"] });
});

function App() {
  const [language, setLanguage] = useState(chosen);
  useEffect(() => {
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
    const other = () => {
      setLanguage(localStorage.language = language === "zh" ? "en" : "zh");
      client.invalidateQueries(); // the gateway's sentences, too
    };
    addEventListener("etui:language", other);
    return () => removeEventListener("etui:language", other);
  }, [language]);
  return (
    <LanguageContext value={language}>
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </LanguageContext>
  );
}

if (localStorage.theme) document.documentElement.dataset.theme = localStorage.theme;
createRoot(document.getElementById("root")!).render(<StrictMode><App /></StrictMode>);
