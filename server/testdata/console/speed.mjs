// Measures the console in Chromium: how large its first page is and when it paints, and the longest
// task of each view, in time of the processor: other work on the machine does not count. Its arguments are a gateway's address and a link that signs in.
import { gzipSync } from "node:zlib";
import { launch } from "./browser.mjs";

const [address, link] = process.argv.slice(2);
const browser = await launch();
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
const page = await context.newPage();
let failures = 0;
const say = (what, got, most, unit) => {
  if (got > most) failures++;
  console.log(`${got > most ? "TOO MUCH " : ""}${what}: ${Math.round(got)} ${unit}, at most ${most}`);
};

const sizes = [];
const watch = (response) => { if (/\.(js|css|svg)$|console\/$/.test(response.url())) sizes.push(response.body().then((b) => gzipSync(b).length)); };
page.on("response", watch);
await page.goto(link);
await page.waitForSelector("main h1");
await page.waitForLoadState("networkidle");
page.off("response", watch);
say("first page, gzip", (await Promise.all(sizes)).reduce((a, b) => a + b, 0) / 1000, 400, "kB");
const paints = [];
for (let i = 0; i < 5; i++) {
  await page.goto(address + "/console/");
  await page.waitForSelector("main h1");
  paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
}
say("first contentful paint, the median of five", paints.sort((a, b) => a - b)[2], 1000, "ms");

// traced returns how much processor time the longest task of the page took while act ran.
const client = await browser.newBrowserCDPSession();
const traced = async (act) => {
  const events = [];
  const take = ({ value }) => events.push(...value);
  client.on("Tracing.dataCollected", take);
  await client.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: { recordMode: "recordAsMuchAsPossible", includedCategories: ["toplevel", "disabled-by-default-devtools.timeline", "__metadata"] } });
  await act();
  const ended = new Promise((resolve) => client.once("Tracing.tracingComplete", resolve));
  await client.send("Tracing.end");
  await ended;
  client.off("Tracing.dataCollected", take);
  const main = new Set(events.filter((e) => e.name === "thread_name" && e.args.name === "CrRendererMain").map((e) => `${e.pid}:${e.tid}`));
  const tasks = events.filter((e) => e.ph === "X" && e.tdur && main.has(`${e.pid}:${e.tid}`) && /RunTask/.test(e.name));
  if (!main.size || !tasks.length) throw new Error(`the trace has no tasks of the page, but ${events.length} events`);
  return Math.max(...tasks.map((e) => e.tdur)) / 1000;
};
// busy is a task of a known length, which shows that the measure measures.
const busy = await traced(() => page.evaluate(() => new Promise((done) => setTimeout(() => { for (const began = performance.now(); performance.now() - began < 1000;); done(); }))));
if (busy < 20) throw new Error(`a task that was busy for a second took ${busy} ms of processor time`);
const longest = async (what, act) => {
  let took = 0;
  const most = await traced(async () => {
    const began = Date.now();
    await act();
    took = Date.now() - began;
    await page.waitForTimeout(300);
  });
  say(`${what} (${took} ms)`, most, 100, "ms, the longest task");
};
const go = (view, until) => longest(view || "live", async () => {
  await page.evaluate((to) => { history.pushState({}, "", to); dispatchEvent(new PopStateEvent("popstate")); }, `/console/${view}`);
  await page.waitForSelector(until, { timeout: 60_000 });
});
await longest("live, polled for 6 s", () => page.waitForTimeout(6000));
// rate is how many turns a second begin while the page shows them.
const rate = 50;
await longest(`live, ${rate} turns a second for 6 s`, async () => {
  const turns = [];
  const ask = (i) => fetch(address + "/api/chat", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ text: `Question ${i}`, user: `live${i}` }) }).then((r) => r.text());
  for (const began = Date.now(); Date.now() - began < 6000; await page.waitForTimeout(20)) while (turns.length < ((Date.now() - began) / 1000) * rate) turns.push(ask(turns.length));
  const answers = await Promise.all(turns);
  const failed = answers.filter((a) => !a.includes('"done"')).length;
  say(`turns of ${turns.length} that failed`, failed, 0, "turns");
  await page.waitForTimeout(2500);
  await page.waitForFunction((least) => [...document.querySelectorAll("main td a")].some((a) => Number(a.textContent.slice(9)) >= least), turns.length - rate); // not all end in their order
});
await go("tools", "text=move_box_1");
await longest("tools, search", async () => {
  await page.fill("main input[type=search]", "shelf with the number 9999");
  await page.waitForFunction(() => document.querySelector("main [aria-live]").textContent.startsWith("1 "));
});
await longest("tools, sort", () => page.click("main th button >> nth=4"));
await longest("tools, all again", () => page.fill("main input[type=search]", ""));
await longest("tools, scroll", async () => {
  for (let y = 0; y < 40; y++) await page.evaluate((to) => { document.querySelector(".scroll").scrollTop = to; }, y * 5000);
});
await go("tools/move_box_77", "form.card");
await go("sessions", "text=Question");
await longest("sessions, search", async () => {
  await page.fill("main input[type=search]", "user42:777");
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1, undefined, { timeout: 60_000 });
});
await go("what-if", "textarea");
await longest("what if", async () => {
  await page.fill("textarea", "move the box to shelf 42");
  await page.click("button.first");
  await page.waitForSelector(".funnel", { timeout: 60_000 });
});
await go("rules", "role=tab");
await longest("rules, who may use what", async () => {
  await page.click("role=tab >> nth=2");
  await page.waitForSelector("text=move_box_1", { timeout: 60_000 });
});
for (const view of ["skills", "approvals", "usage", "schedule", "channels", "audit"]) await go(view, "main h1");
await browser.close();
process.exit(failures ? 1 : 0);
