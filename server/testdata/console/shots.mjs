// Takes the console's pictures for the docs: it starts the demo with a scripted model, asks it a few
// questions, and opens pages. Its arguments are the program, the folder for the pictures, and, to look at
// all pages in both themes, wide and narrow, another folder for those.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch } from "./browser.mjs";

const [etui, folder, others] = process.argv.slice(2);
const questions = [
  ["show me the error logs of the checkout pod in namespace prod", "lena"], ["我还剩几天年假？", "max"], ["book a room for ten people tomorrow", "max"],
  ["restart the payments service", "lena"], ["how many orders are open?", "max"], ["send the weekly report to the team", "wei"],
];

// value makes a value that fits a schema.
const value = (s) => s.enum?.[0] ?? ({ integer: 1, number: 1, boolean: true, array: [], object: {} }[s.type] ?? "prod");

// The model calls the first tool that it is shown, and then answers.
const model = createServer((request, response) => {
  let text = "";
  request.on("data", (d) => { text += d; });
  request.on("end", () => {
    const asked = JSON.parse(text || "{}");
    const chosen = (asked.tools ?? []).map((t) => t.function).find((f) => !/^(find_tools|call_tool|describe_tool|use_skill)$/.test(f.name));
    const answered = asked.messages?.at(-1)?.role === "tool";
    const args = chosen && Object.fromEntries((chosen.parameters?.required ?? []).map((name) => [name, value(chosen.parameters.properties[name])]));
    const delta = !answered && chosen ? { tool_calls: [{ index: 0, id: "c" + Date.now(), type: "function", function: { name: chosen.name, arguments: JSON.stringify(args) } }] } : { content: "Here is what I found. **Shall I go on?**" };
    const input = Math.round(text.length / 4);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const say = (o) => response.write(`data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", model: asked.model, choices: [], ...o })}\n\n`);
    setTimeout(() => {
      say({ choices: [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason: null }] });
      say({ choices: [{ index: 0, delta: {}, finish_reason: delta.content ? "stop" : "tool_calls" }] });
      say({ usage: { prompt_tokens: input, completion_tokens: 30, total_tokens: input + 30, prompt_tokens_details: { cached_tokens: answered ? Math.round(input * 0.8) : 0 } } });
      response.end("data: [DONE]\n\n");
    }, 150 + (input % 700));
  });
});
await new Promise((done) => model.listen(0, "127.0.0.1", done));

const home = mkdtempSync(join(tmpdir(), "etui-shots-"));
const port = 20_000 + (process.pid % 20_000);
writeFileSync(join(home, "etui.yaml"), `listen: 127.0.0.1:${port}
demo: true
models:
  - {name: main, provider: openai, model: gpt-5.4-mini, base_url: "http://127.0.0.1:${model.address().port}/v1", api_key: none, price: {input: 0.75, output: 4.5}}
agents: [{name: main}]
users:
  - {name: lena, roles: [oncall]}
  - {name: wei}
  - {name: max}
policy:
  rules:
    - {name: look-first, ask: ["risk:destructive"], reason: somebody should look first}
`);
const gateway = spawn(etui, ["--workspace", home, "serve"], { env: { ...process.env, ETUI_TRUST: home }, stdio: ["ignore", "pipe", "pipe"] });
let log = "";
for (const out of [gateway.stdout, gateway.stderr]) out.on("data", (d) => { log += d; });
const address = `http://127.0.0.1:${port}`;
const post = async (path, body) => (await fetch(address + path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) })).text();
try {
  for (let i = 0; ; i++) {
    if (i > 300) throw new Error("the gateway did not start:\n" + log);
    if (await fetch(address + "/readyz").then((r) => r.ok, () => false)) break;
    await new Promise((done) => setTimeout(done, 100));
  }
  for (const [text, user] of questions) await post("/api/chat", { text, user, background: true });
  const browser = await launch();
  const link = async () => address + JSON.parse(await post("/admin/console", { name: "ann" })).path;
  const kept = ["console", "console-preview", "console-why"]; // that the docs show
  for (const [scheme, width] of others ? [["light", 1280], ["dark", 1280], ["light", 390], ["dark", 390]] : [["light", 1280]]) {
    const context = await browser.newContext({ locale: "en-GB", colorScheme: scheme, viewport: { width, height: 860 } });
    const page = await context.newPage();
    await page.goto(await link());
    await page.waitForSelector("main h1");
    const open = async (view) => {
      await page.goto(`${address}/console/${view}`);
      await page.waitForSelector("main h1");
      await page.waitForFunction(() => !/Loading …/.test(document.querySelector("main").textContent));
    };
    const take = async (name) => {
      if (width === 1280 && scheme === "light" && kept.includes(name)) await page.screenshot({ path: join(folder, `${name}.png`) });
      if (others) await page.screenshot({ path: join(others, `${name}-${scheme}-${width}.png`) });
    };
    await open("");
    await take("console-live");
    await open("usage");
    await page.waitForSelector(".legend");
    await take("console-usage");
    await open("sessions");
    await page.click("tbody a");
    await page.click("text=Why these tools?");
    await page.waitForSelector(".funnel");
    await take("console-why");
    await open("what-if");
    await page.fill("textarea", questions[0][0]);
    await page.click("button.first");
    await page.waitForSelector("tr.sent");
    await page.evaluate(() => document.querySelector(".figures").scrollIntoView());
    await take("console");
    await open("rules?example=rule");
    await page.click(".cm-content");
    await page.keyboard.press("Control+End");
    await page.keyboard.insertText("visibility:\n  rules:\n    - {name: oncall-only, deny: [\"get_pod_*\", \"delete_*\"], when: '!(\"oncall\" in user.roles)', reason: only those on call look into pods}\n");
    await page.click("text=Preview on past messages");
    await page.waitForSelector("text=past messages would");
    await page.evaluate(() => document.querySelector("main [role=status] table, main [role=status]").scrollIntoView({ block: "end" }));
    await take("console-preview");
    await open("ranking");
    await page.click("text=Take past messages");
    await page.waitForFunction(() => document.querySelector("main textarea").value);
    await page.click("text=Measure");
    await page.waitForSelector("text=recall@5");
    await page.evaluate(() => document.querySelector("main textarea").scrollIntoView());
    await take("console-evaluation");
    await context.close();
  }
  await browser.close();
} finally {
  gateway.kill();
  model.close();
  model.closeAllConnections();
  await new Promise((done) => gateway.once("exit", done));
  rmSync(home, { recursive: true, force: true });
}
