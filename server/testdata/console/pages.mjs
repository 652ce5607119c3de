// Opens every page of the console in Chromium, as people do, and prints what is wrong with it. Its
// arguments are a gateway's address, a link that signs in, and the file of the configuration.
import { readFileSync, writeFileSync } from "node:fs";
import { launch } from "./browser.mjs";

const [address, link, file, shots] = process.argv.slice(2);
const browser = await launch();
const axe = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const views = ["", "what-if", "tools", "tools/report", "skills", "ranking", "workflows", "sessions", "approvals", "usage", "rules", "rules?example=rule", "schedule", "channels", "people", "people/ann", "keys", "audit"];
let failures = 0;
const wrong = (text) => { failures++; console.log(text); };

// open returns a page that reports errors, requests to other hosts, and what its policy blocked.
async function open(context) {
  const page = await context.newPage();
  // Refusals are a part of the tests, and Chromium itself styles what replaces a selection in the editor.
  page.on("console", (m) => m.type() === "error" && !/status of (400|401|403|404|409|410)|ERR_INTERNET_DISCONNECTED|^Applying inline style/.test(m.text()) && wrong(`${page.url()}: ${m.text()}`));
  page.on("pageerror", (e) => wrong(`${page.url()}: ${e}`));
  page.on("request", (r) => r.url().startsWith(address) || r.url().startsWith("data:") || wrong(`${page.url()} asks for ${r.url()}`));
  return page;
}

async function settled(page) {
  await page.waitForSelector("main h1");
  await page.waitForFunction(() => !/Loading …|加载中/.test(document.querySelector("main").textContent));
}

async function accessible(page, what) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  for (const v of (await page.evaluate(() => window.axe.run({ resultTypes: ["violations"] }))).violations) wrong(`${what}: ${v.id}: ${v.nodes.map((n) => n.html.slice(0, 100)).join(" | ")}`);
}

// The door, without a sign-in.
const first = await browser.newContext({ locale: "en-GB" });
const stranger = await open(first);
await stranger.goto(address + "/console/tools");
await stranger.waitForSelector("main.door");
await accessible(stranger, "the door");

// Who has the door open pastes the link there.
const [at] = link.split("#");
await stranger.goto(at);
await stranger.waitForSelector("main.door");
await stranger.evaluate((to) => { location.href = to; }, at + "#" + "A".repeat(26));
await stranger.waitForSelector("main.door [role=alert]"); // it is no longer good

// A link signs in, and the address forgets it.
const page = await open(first);
await page.goto(link);
await page.waitForSelector("nav");
if (page.url().includes("#")) wrong("the address keeps the secret");
const state = await first.storageState();
if (!state.cookies.every((c) => c.httpOnly && c.sameSite === "Strict")) wrong("the cookie: " + JSON.stringify(state.cookies));

// A system without a language has Chromium say that it is en-US@posix.
const plain = await browser.newContext({ storageState: state });
await plain.addInitScript(() => Object.defineProperty(navigator, "language", { value: "en-US@posix", configurable: true }));
const posix = await open(plain);
await posix.goto(address + "/console/usage");
await posix.waitForSelector("main .legend");
await plain.close();

// Every page, in both languages, both themes, wide and narrow: one page per language goes from view
// to view, and each theme has one width in which everything is looked at.
for (const locale of ["en-GB", "zh-CN"]) {
  const context = await browser.newContext({ locale, storageState: state });
  const p = await open(context);
  await p.goto(address + "/console/");
  await settled(p);
  for (const view of views) {
    await p.evaluate((to) => { history.pushState({}, "", to); dispatchEvent(new PopStateEvent("popstate")); }, `/console/${view}`);
    await p.waitForFunction((known) => !known || document.querySelector("main h1")?.textContent !== known, view && !view.includes("?") && (await p.evaluate(() => window.seen))); // with a query it is the same page
    await settled(p);
    const heading = await p.textContent("h1");
    await p.evaluate((h) => { window.seen = h; }, heading);
    if (view && !view.includes("/") && locale === "zh-CN" && /[A-Za-z]/.test(heading)) wrong(`${view}: the heading is ${heading}`);
    if (view === "what-if") {
      await p.fill("textarea", "send the weekly report");
      await p.check("input[type=checkbox]");
      await p.click("button.first");
      await p.waitForSelector(".funnel");
      if (!(await p.textContent("tr.sent")).includes("report")) wrong(`${view}: the report is not sent`);
    }
    for (const [colorScheme, width] of [["light", 1280], ["dark", 390]]) {
      const what = `${view || "live"}, ${locale}, ${colorScheme}, ${width} px`;
      await p.emulateMedia({ colorScheme });
      await p.setViewportSize({ width, height: 800 });
      const over = await p.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (over > 0) wrong(`${what}: ${over} px too wide`);
      if ((locale === "en-GB") === (colorScheme === "light")) await accessible(p, what); // once for each theme, width and language
      if (shots) await p.screenshot({ path: `${shots}/${(view || "live").replace("/", "-")}-${locale}-${colorScheme}-${width}.png` });
    }
  }
  await context.close();
}

// A message of a conversation says why it got its tools, and the conversation can be taken along.
await page.goto(address + "/console/sessions");
await settled(page);
await page.click("tbody a:has-text('weekly')");
await page.click("text=Why these tools?");
await page.waitForSelector(".said .funnel");
await accessible(page, "a conversation");
for (const [kind, text] of [["JSON", '"said"'], ["Markdown", "## user"]]) {
  const [saved] = await Promise.all([page.waitForEvent("download"), page.click(`text=${kind} ↓`)]);
  if (!readFileSync(await saved.path(), "utf8").includes(text)) wrong(`the ${kind} of a conversation lacks ${text}`);
}
if (shots) await page.screenshot({ path: shots + "/session.png", fullPage: true });

// What tools, people and models wrote is never markup: names of conversations and people, arguments, Markdown.
page.on("dialog", (d) => d.type() === "alert" && wrong(`${page.url()}: a text ran as a script`));
const inert = async (what) => {
  await page.evaluate(() => document.querySelectorAll("main details").forEach((d) => { d.open = true; }));
  const found = await page.$$eval("main img, main script, main iframe, main [onclick], main [onerror], main a[href^='javascript']", (all) => all.map((e) => e.outerHTML));
  if (found.length) wrong(`${what}: markup of others: ${found}`);
  const turned = (await page.textContent("main")).match(/.{0,20}[\u202a-\u202e\u2066-\u2069].{0,20}/);
  if (turned) wrong(`${what}: characters turn others around: ${turned}`);
};
await page.waitForSelector("text=onerror=alert(1)", { state: "attached" });
await inert("a conversation");
await page.goto(address + "/console/sessions");
await settled(page);
await inert("the conversations");
await page.click("tbody a:has-text('<script>')");
await page.waitForSelector("h1:has-text('<script>')");
await inert("another conversation");
const [taken] = await Promise.all([page.waitForEvent("download"), page.click("text=Markdown ↓")]);
const exported = readFileSync(await taken.path(), "utf8"); // a stranger's text looks like no message, and loads nothing
if (!exported.includes("> ## assistant") || (exported.match(/^## /gm)?.length ?? 0) !== (await page.$$(".said")).length || /(?<!\\)(<(img|script|iframe)|!\[)/.test(exported)) wrong("the Markdown of a conversation: " + exported);
for (const view of ["", "approvals", "usage", "audit", "people"]) {
  await page.goto(`${address}/console/${view}`);
  await settled(page);
  await inert(view || "live");
}

// Two sets of rules beside each other.
await page.goto(address + "/console/what-if");
await settled(page);
await page.fill("main textarea", "send the weekly report");
await page.click("text=Beside other rules"); // it counts once the file is there
await page.waitForFunction(() => document.querySelectorAll("main textarea")[1]?.value.includes("kept"));
await page.locator("main textarea").nth(1).fill("no rules");
await page.click("button.first");
await page.waitForSelector("text=these are no rules");
await page.locator("main textarea").nth(1).fill("# hides the report");
await page.click("button.first");
await page.waitForSelector("tr:has-text('report') .badge.warn");
await page.waitForSelector("tr.sent:has-text('clock')");
await accessible(page, "other rules");
if (shots) await page.screenshot({ path: shots + "/other-rules.png", fullPage: true });

// The tokens of messages add up, on the page of the usage.
await page.goto(address + "/console/usage");
await page.waitForSelector("main .legend");
await page.waitForSelector("text=Tokens of the model over time");
await accessible(page, "the usage");
if (shots) await page.screenshot({ path: shots + "/usage.png", fullPage: true });

// Questions whose tools the ranking misses become examples of these, once somebody saw what is written.
await page.goto(address + "/console/ranking");
await settled(page);
await page.fill("main textarea", "Send the weekly report => report\nzyx wvu => move_box_7");
await page.click("text=Measure");
await page.waitForSelector("text=Found instead");
await page.click("text=Add as an example");
await page.waitForSelector(".diff ins");
await page.click("text=Write it");
await page.waitForSelector("text=Saved.");
await accessible(page, "an evaluation");
if (shots) await page.screenshot({ path: shots + "/evaluation.png", fullPage: true });

// A skill is installed only after somebody saw its files and what to look at in them.
await page.goto(address + "/console/skills");
await settled(page);
await page.fill("main input", "greeter");
await page.click("text=Find in registries");
await page.click("main li button");
await page.waitForSelector("text=skills/greeter/run.sh");
if (!(await page.isDisabled('.said button:text-is("Install")'))) wrong("a skill is installed before anybody looked at its flags");
await page.check("main input[type=checkbox]");
await accessible(page, "an offer");
if (shots) await page.screenshot({ path: shots + "/install.png", fullPage: true });
await page.click('.said button:text-is("Install")');
await page.waitForSelector("text=Installed: greeter");

// A call that somebody tries goes by the rules.
page.on("dialog", (d) => d.accept());
await page.goto(address + "/console/tools/move_box_1");
await settled(page);
await page.fill("#p-title", "x");
await page.click("text=Call it");
await page.waitForSelector("main form [role=alert]"); // nobody can approve it there
await accessible(page, "a call");
if (shots) await page.screenshot({ path: shots + "/call.png", fullPage: true });

// A button switches a tool off and on, alone or with its group, and says when that is in effect. Another
// person's change is not lost.
await page.goto(address + "/console/tools/move_box_1");
await settled(page);
const off = () => page.locator("main code").allTextContents();
await page.click('main button:text-is("Disable")');
await page.waitForSelector("text=It is in effect.");
if (!(await off()).join().includes("tools.disabled: move_box_1")) wrong(`the page says ${await off()}`);
await accessible(page, "a tool that is off");
if (shots) await page.screenshot({ path: shots + "/off.png", fullPage: true });
await page.click("text=Undo");
await page.waitForSelector('main button:text-is("Disable")');
await page.click('main button:text-is("Disable the group office")');
await page.waitForSelector('main button:text-is("Enable the group office")');
await page.goto(address + "/console/tools");
await settled(page);
await page.waitForSelector("tr:has-text('report') .badge:text-is('off')");
await accessible(page, "tools that are off");
await page.goto(address + "/console/tools/report");
await page.waitForSelector('main button:text-is("Enable the group office")');
const meanwhile = readFileSync(file, "utf8") + "# by another\n";
writeFileSync(file, meanwhile);
await page.click('main button:text-is("Enable the group office")');
await page.waitForSelector("main [role=alert]:has-text('changed meanwhile')");
if (readFileSync(file, "utf8") !== meanwhile) wrong("another person's change is lost");
await page.click("text=Try again");
await page.waitForFunction(() => !document.querySelector("main [role=alert]"));
await page.waitForLoadState("networkidle");
await page.click('main button:text-is("Enable the group office")');
await page.waitForSelector("text=It is in effect.");
if (readFileSync(file, "utf8") !== "# kept\nagents: [{name: main}]\n# by another\n") wrong(`the file is ${readFileSync(file, "utf8")}`);

// Somebody approves a call that waits.
await page.goto(address + "/console/approvals");
await page.click("text=Approve");
await page.waitForSelector("text=Nothing here yet.");

// An operator answers questions of tools: one in words, by the keyboard, and one by its choice, on Live.
const asks = (text) => fetch(address + "/api/chat", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ text, user: "zoe", session: "asks", background: true }) });
const became = (text) => page.waitForFunction(async ([t]) => document.querySelector("main").textContent.includes(t), [text]);
await asks("name one");
await page.waitForSelector("text=Which one, and why?");
await accessible(page, "a question of a tool");
if (shots) await page.screenshot({ path: shots + "/question.png" });
if (await page.locator("main .said button").isEnabled()) wrong("an empty answer can be given");
await page.fill("main .said input", "the green one");
await page.keyboard.press("Enter");
await page.waitForSelector("text=Nothing here yet.");
await asks("choose one");
await page.goto(address + "/console/");
await page.waitForSelector(".said button:text-is('blue')");
await accessible(page, "a question with choices");
if (shots) await page.screenshot({ path: shots + "/question-choices.png" });
await page.click(".said button:text-is('blue')");
await became("choose_it");
await page.waitForSelector(".said button", { state: "detached" });
const told = JSON.stringify(await (await fetch(address + "/admin/sessions/" + encodeURIComponent("agent:main:session:asks:peer:zoe"))).json());
if (!told.includes("answered: the green one") || !told.includes("answered: blue")) wrong("the answers are lost: " + told.slice(0, 2000));

// How long calls of etui's own tools took.
await page.goto(address + "/console/tools/name_it");
await page.waitForSelector("text=Calls since etui started");
if (shots) await page.screenshot({ path: shots + "/tool-latency.png", fullPage: true });

// A turn at another process: what the shared store knows of it, and who knows the rest.
await page.route("**/admin/inbox*", (r) => r.fulfill({ json: [{ id: 99, session: "agent:side:main", user: "kim", state: "waiting", agent: "side", channel: "slack", process: "other-7", accepted: "2026-05-04T11:59:58Z", text: "far away" }] }));
await page.goto(address + "/console/");
await page.waitForSelector("text=at another process: other-7. Only that one knows its tools and tokens.");
const far = await page.locator("tr:has-text('other-7')").textContent();
if (!["kim", "slack", "side", "Stop"].every((part) => far.includes(part))) wrong("a turn at another process: " + far);
if (await page.locator("text=far away").count()) wrong("a turn that runs waits, too");
if (shots) await page.screenshot({ path: shots + "/elsewhere.png" });
await page.unroute("**/admin/inbox*");

// An owner edits the configuration: mistakes are marked, another person's change is not lost, and a
// save can be taken back.
await page.goto(address + "/console/rules");
await settled(page);
await page.click("text=Who may use what");
await page.waitForSelector("text=move_box_1");
for (const [tool, says] of [["report", "asked"], ["name_it", "allowed"]]) { // calls, too, and not only what is seen
  await page.fill("main input[type=search]", tool);
  await page.waitForSelector(`tr:has-text('${tool}') .badge:text-is('${says}')`);
}
await page.click("role=tab[name=File]");
// It completes keys and values, and says what a key means.
await page.click(".cm-content");
await page.keyboard.press("Control+End");
await page.keyboard.type("age");
await page.waitForSelector(".cm-tooltip-autocomplete li:has-text('agents')");
await page.waitForSelector(".cm-completionInfo:has-text('Those who answer')");
if (shots) await page.screenshot({ path: shots + "/editor-completion.png" });
await page.waitForTimeout(100); // so long CodeMirror takes no key for the list that has just come
await page.keyboard.press("Enter");
await page.keyboard.type("\n- {mo");
await page.waitForSelector(".cm-tooltip-autocomplete li:has-text('mode')");
await page.waitForTimeout(100);
await page.keyboard.press("Enter");
await page.keyboard.press("Control+Space");
await page.waitForSelector(".cm-tooltip-autocomplete li:has-text('bridge')");
await page.keyboard.press("Escape");
await page.hover(".cm-line >> nth=1 >> span:text('agents')");
await page.waitForSelector(".cm-tooltip-hover:has-text('Those who answer')");
if (shots) await page.screenshot({ path: shots + "/editor-hint.png" });
const write = async (text) => { await page.click(".cm-content"); await page.keyboard.press("Control+A"); await page.keyboard.type(text); };
await write("# kept\nagnets: []\n");
await page.waitForSelector(".cm-lintRange-error, .cm-lintPoint-error");
await page.click("text=Save");
await page.waitForSelector("text=did you mean");
await write("# kept\nagents: [{name: other}]\n");
writeFileSync(file, "# kept by another\n");
await page.click("text=Save");
await page.waitForSelector("text=the file changed meanwhile");
if (readFileSync(file, "utf8") !== "# kept by another\n") wrong("another person's change is lost");
await page.click("text=Try again");
await page.waitForSelector("text=kept by another");
await write("# kept\nagents: [{name: third}]\n");
await page.click("text=Preview on past messages");
await page.waitForSelector("text=past messages would");
await page.click("main details summary");
await accessible(page, "a preview");
if (shots) await page.screenshot({ path: shots + "/preview.png", fullPage: true });
await page.click("text=Save");
await page.waitForSelector('text="Saved."');
if (!readFileSync(file, "utf8").includes("third")) wrong("the change was not saved");
await accessible(page, "the editor");
if (shots) await page.screenshot({ path: shots + "/editor.png" });
await page.click("text=Undo");
await page.waitForSelector("text=kept by another");
if (readFileSync(file, "utf8") !== "# kept by another\n") wrong("the change was not taken back");

// An example stands under its key, and is checked like what somebody types.
await page.goto(address + "/console/rules?example=rule");
await page.click('button:text-is("Insert")');
await page.waitForFunction(() => document.querySelector(".editor").shadowRoot.textContent.includes("look-first"));

// The keyboard alone: past the menu, and through it.
await page.goto(address + "/console/");
await settled(page);
await page.keyboard.press("Tab");
if (!(await page.evaluate(() => document.activeElement.classList.contains("skip")))) wrong("the first stop is not the way past the menu");
await page.keyboard.press("Tab");
await page.keyboard.press("Tab");
await page.keyboard.press("Enter");
await page.waitForURL("**/console/what-if");

// A text of a tool or a person is never markup.
await page.goto(address + "/console/tools/report");
await settled(page);
if ((await page.$$("main img, main script")).length) wrong("a tool's text became markup");

// Another person's change in between: what is shown goes on to say so.
await page.goto(address + "/console/sessions");
await settled(page);
await page.click("tbody a:has-text('<script>')");
await page.waitForSelector("h1:has-text('<script>')");
const gone = decodeURIComponent(page.url().split("/sessions/")[1]);
if ((await fetch(`${address}/admin/sessions/${encodeURIComponent(gone)}`, { method: "DELETE" })).status >= 300) wrong("another person cannot delete a conversation");
await page.click("text=Delete");
await page.waitForSelector("main [role=alert]");

// A lost connection: the page says so, and goes on when it is back.
await page.goto(address + "/console/tools");
await settled(page);
await first.setOffline(true);
await page.click("tbody a:text-is('report')");
await page.waitForSelector("main [role=alert]");
await first.setOffline(false);
await page.click("text=Try again");
await page.waitForSelector("main form.card");

// A sign-in that ended elsewhere leads to the door, also from a view that only waits.
await page.goto(address + "/console/tools");
await settled(page);
await page.click("nav >> text=Live");
await page.waitForSelector("main .figures");
await page.evaluate(() => fetch("/console/session", { method: "DELETE" }));
await page.waitForSelector("main.door");

await browser.close();
process.exit(failures ? 1 : 0);
