import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { answer, api, type Schemas } from "../api";
import { Badge, Card } from "../parts";
import { useTexts } from "../texts";

// server is a file that brings the tools of an MCP server.
const server = `name: tracker
description: Issues and milestones.
provider: mcp
endpoint: https://tracker.example.com/mcp`;

// keys are the variables that the examples take from the environment.
const keys: Record<string, string> = { model: "OPENAI_API_KEY", channel: "TELEGRAM_TOKEN" };

// few is how many tools etui brings, at most.
const few = 60;

// First leads from an empty workspace to a working agent. It is shown while there are no tools but
// those of etui itself, until the other steps are done or somebody hides it.
export function First({ status: s, channels }: { status: Schemas["Status"]; channels: number }) {
  const t = useTexts();
  const model = s.agents?.some((a) => a.models?.some((m) => m.model !== "offline")) ?? false;
  const [hidden, hide] = useState(() => !!localStorage.first);
  const tools = useQuery({ queryKey: ["tools"], enabled: !hidden && s.tools <= few, queryFn: () => answer(api.GET("/api/tools", { params: { query: { brief: "true" } } })) });
  const steps: [keyof typeof t.steps, boolean][] = [["model", model], ["tools", false], ["channel", channels > 0], ["rule", (s.rules?.length ?? 0) + (s.policy?.length ?? 0) > 0]];
  if (hidden || s.tools > few || !tools.data || tools.data.some((x) => x.source !== "builtin") || steps.every(([name, done]) => done || name === "tools")) return null;
  return (
    <Card title={t.firstTitle}>
      <p className="row"><span className="soft">{t.firstHow}</span> <button onClick={() => { localStorage.first = "hidden"; hide(true); }}>{t.hide}</button></p>
      <ol className="steps">
        {steps.map(([name, done]) => (
          <li key={name}>
            <b>{t.examples_[name]}</b> {done && <Badge kind="good">{t.done}</Badge>}
            <p>{t.steps[name]}</p>
            {name === "tools" ? (
              <>
                <p className="soft">{t.writeFile} <code>skills/tracker.yaml</code></p>
                <pre>{server}</pre>
                <p><Link to="/skills">{t.skills}</Link> · <Link to="/rules" search={{ example: "tools" } as never}>{t.demoTools}</Link></p>
              </>
            ) : (
              <>
                <p>{t.writes} <code>{s.configuration?.file.split(/[\\/]/).pop() ?? "etui.yaml"}</code> · <Link to="/rules" search={{ example: name } as never}>{t.openEditor}</Link></p>
                {keys[name] && <><p className="soft">{t.firstKey}</p><pre>{keys[name]}=…</pre></>}
              </>
            )}
          </li>
        ))}
      </ol>
    </Card>
  );
}
