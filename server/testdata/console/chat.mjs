// Uses the page for those who ask in Chromium, as people do, and prints what is wrong with it. Its
// arguments are a gateway without keys, one with keys, a key for it and that of somebody who decides, a token
// for its web channel, and the page of a site that
// frames the chat, at an address that may do so and at one that may not. The texts of models and how
// they are to look are its input.
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { launch } from "./browser.mjs";

const [open, closed, key, approver, token, shop, evil, shots] = process.argv.slice(2);
const texts = JSON.parse(await text(process.stdin));
const browser = await launch();
const axe = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
let failures = 0;
const wrong = (text) => { failures++; console.log(text); };

async function visit(address, options = {}) {
  const context = await browser.newContext({ locale: "en-GB", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  page.on("console", (m) => m.type() === "error" && !/status of (400|401|403)/.test(m.text()) && wrong(`${page.url()}: ${m.text()}`));
  page.on("pageerror", (e) => wrong(`${page.url()}: ${e}`));
  page.on("dialog", () => wrong("a text ran as a script"));
  page.on("request", (r) => r.url().startsWith(new URL(address).origin) || /^(data|blob):/.test(r.url()) || wrong(`asks for ${r.url()}`));
  await page.goto(address);
  await page.waitForSelector("textarea:not([disabled]), form.card");
  return page;
}
async function accessible(page, what) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  for (const v of (await page.evaluate(() => window.axe.run({ resultTypes: ["violations"] }))).violations) wrong(`${what}: ${v.id}: ${v.nodes.map((n) => n.html.slice(0, 100)).join(" | ")}`);
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (over > 0) wrong(`${what}: ${over} px too wide`);
}
const say = async (page, text) => { await page.fill("textarea", text); await page.keyboard.press("Enter"); };
const last = (page) => page.locator("article.agent").last();
const settled = (page) => page.waitForSelector("[role=log][aria-busy=false]");

// How much the first page loads.
let page = await visit(open + "/chat");
const loaded = await page.evaluate(() => performance.getEntriesByType("resource").reduce((sum, e) => sum + e.decodedBodySize, 0));
if (loaded > 700_000) wrong(`the page loads ${loaded} bytes`);
await accessible(page, "an empty chat");

// The keyboard alone: a question, a call that waits, its yes, and why.
await page.keyboard.type("Send the weekly report");
await page.keyboard.press("Enter");
await page.waitForSelector(".waits");
await accessible(page, "a call that waits");
if (shots) await page.screenshot({ path: shots + "/chat-waits.png" });
await page.click("text=Always"); // nobody without a name may: it waits still
await page.waitForSelector("article [role=alert]");
await page.locator(".waits button.first").focus();
await page.keyboard.press("Enter");
await page.waitForSelector("text=It is sent.");
if (await page.locator(".waits").count()) wrong("what was answered waits still");
await page.locator(".call summary").focus();
await page.keyboard.press("Enter");
await page.waitForSelector("text=sent <script>");
if (!(await page.locator(".call pre").first().textContent()).includes("weekly")) wrong("a call without its arguments");
await page.click("text=Why these tools?");
await page.waitForSelector(".why .funnel");
await accessible(page, "an answer with its reasons");
if (shots) await page.screenshot({ path: shots + "/chat-why.png" });

// Pictures and files, in and out.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
await page.setInputFiles("input[type=file]", { name: "photo.png", mimeType: "image/png", buffer: Buffer.from(pixel, "base64") });
await page.waitForSelector("text=photo.png");
await say(page, "draw this");
await page.waitForSelector("text=Here.");
if (!(await page.locator("article.you img[alt='photo.png']").count()) || !(await page.locator("figure img[alt='pixel.png']").count())) wrong("pictures are missing");
const [saved] = await Promise.all([page.waitForEvent("download"), page.click("text=↓ page.html")]);
if (saved.suggestedFilename() !== "page.html" || !readFileSync(await saved.path(), "utf8").includes("script")) wrong("a file cannot be saved");
await page.setInputFiles("input[type=file]", { name: "x.exe", mimeType: "application/octet-stream", buffer: Buffer.from("x") });
await page.waitForSelector("role=alert");

// Questions of tools, by the keyboard alone: one with a field, one with choices.
const reach = async (selector) => {
  for (let i = 0; i < 60; i++) {
    if (await page.evaluate((s) => document.activeElement?.matches(s), selector)) return;
    await page.keyboard.press("Shift+Tab");
  }
  wrong(`the keyboard does not reach ${selector}`);
};
await say(page, "name one");
await page.waitForSelector(".waits input");
await accessible(page, "a question with a field");
await reach(".waits input");
await page.keyboard.type("the green one");
await page.keyboard.press("Enter");
await page.waitForSelector("text=Named.");
await page.focus("textarea");
await say(page, "choose one");
await page.waitForSelector(".waits button:text-is('blue')");
await accessible(page, "a question with choices");
await page.focus("textarea");
await reach(".waits p.row:first-of-type button, .waits p.row button:first-child");
await page.keyboard.press("Enter");
await page.waitForSelector("text=Chosen.");
if (!(await page.locator("article").allTextContents()).join().includes("the green one")) wrong("the answer to a question is lost");

// Files by pasting and by dropping.
for (const [kind, target, name] of [["paste", "textarea", "pasted.png"], ["drop", "form.composer", "dropped.png"]]) {
  await page.locator(target).evaluate((e, [type, file, bytes]) => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0))], file, { type: "image/png" }));
    e.dispatchEvent(type === "paste" ? new ClipboardEvent(type, { clipboardData: data, bubbles: true, cancelable: true }) : new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
  }, [kind, name, pixel]);
  await page.waitForSelector(`.composer >> text=${name}`);
}
await say(page, "look at these");
await page.waitForSelector("text=Seen both.");
for (const name of ["pasted.png", "dropped.png"]) if (!(await page.locator(`article.you img[alt='${name}']`).count())) wrong(`${name} was not sent`);

// Stop.
await say(page, "wait");
await page.click("text=Stop");
await page.waitForSelector("text=Stopped.");

// Texts of models.
for (const [text, html] of texts) {
  await say(page, "show");
  await settled(page);
  const got = await last(page).locator("div").first().evaluate((e) => {
    for (const a of e.querySelectorAll("*")) for (const { name } of [...a.attributes]) if (name !== "href") a.removeAttribute(name);
    return e.innerHTML.replace(/<a href="([^"]*)">/g, "<a $1>").replace(/>\n+|\n+(?=<\/?(ul|ol|li|p|h|table|thead|tbody|tr))/g, (m) => m[0] === ">" ? ">" : "");
  });
  if (html && got !== html) wrong(`${text}\n got  ${got}\n want ${html}`);
  if (await last(page).locator("img, script").count()) wrong(`${text.slice(0, 50)}: an element of the model's`);
}

// Arguments, results and names of files read as they are.
const turned = (await page.locator("[role=log]").textContent()).match(/.{0,20}[\u202a-\u202e\u2066-\u2069].{0,20}/);
if (turned) wrong(`a text turns others around: ${JSON.stringify(turned[0])}`);

// Another agent, another skill, another language, other colours, a phone.
await page.click("text=Settings");
await page.selectOption("label:has-text('Agent') select", "second");
await page.waitForSelector("header > span:has-text('second')");
if (await page.locator("article").count()) wrong("another agent shows what the first one said");
await page.click("text=中文");
await page.waitForSelector("text=新的对话");
await page.click("text=深色或浅色");
await page.focus("textarea");
if (await page.locator("details.menu[open]").count()) wrong("the settings stay over the conversation");
await page.setViewportSize({ width: 390, height: 700 });
await accessible(page, "dark, Chinese, 390 px");
if (shots) await page.screenshot({ path: shots + "/chat-phone.png" });
await page.context().close();

// A gateway with keys asks for one, keeps it in the tab, and shows what was said before.
page = await visit(closed + "/chat");
await accessible(page, "the key");
await page.fill("input[type=password]", "wrong");
await page.keyboard.press("Enter");
await page.waitForSelector("role=alert");
await page.fill("input[type=password]", key);
await page.keyboard.press("Enter");
await page.waitForSelector("textarea:not([disabled])");
await say(page, "hello");
await page.waitForSelector("text=Hello Ann");
await page.reload();
await page.waitForSelector("text=Hello Ann");
if (shots) await page.screenshot({ path: shots + "/chat-key.png" });

// Somebody else answers what waits, and the page notices.
await say(page, "Send the weekly report");
await page.waitForSelector(".waits");
const status = await page.evaluate(async (master) => {
  const headers = { Authorization: "Bearer " + master };
  const { waiting } = await (await fetch("/admin/approvals", { headers })).json();
  return (await fetch("/admin/approvals/" + waiting[0].id, { method: "POST", headers, body: '{"approved":true}' })).status;
}, "master");
if (status !== 200) wrong(`the approval gave ${status}`);
await page.waitForSelector("text=Sent by another.");
if (await page.locator(".waits").count()) wrong("what another person answered waits still");

// Others decide about a call: who asked reads so and goes on, they decide on their page, and the outcome comes.
const other = await visit(closed + "/chat");
await other.fill("input[type=password]", approver);
await other.keyboard.press("Enter");
await other.waitForSelector("textarea:not([disabled])");
const pays = async () => {
  await say(page, "Pay the bill");
  await page.waitForSelector("text=This call waits for others:");
  await accessible(page, "a call that waits for others");
  if (!/^Withdraw$/.test((await page.locator(".waits button").allTextContents()).join())) wrong("who asked has buttons that do not count");
  await other.waitForSelector("text=ann (api) asks for an approval: pay");
};
await pays();
await accessible(other, "a call of somebody else");
if (shots) await page.screenshot({ path: shots + "/chat-theirs.png" });
if (shots) await other.screenshot({ path: shots + "/chat-asked.png" });
await say(page, "and meanwhile?");
await page.waitForSelector("text=Meanwhile.");
await other.click(".waits button:text-is('Approve')");
await page.waitForSelector("p:text-is('It is paid.')");
await other.waitForSelector(".waits", { state: "detached" });
await pays();
await page.click("text=Withdraw");
await page.waitForSelector("text=Taken back.");
await other.waitForSelector("text=Nothing waits here any more");
if (await other.locator("button:text-is('Approve')").count()) wrong("a call that was withdrawn has buttons");
await other.context().close();

if (await page.evaluate((k) => JSON.stringify(localStorage).includes(k) || document.cookie.includes(k), key)) wrong("the key outlives the tab");
await page.context().close();

// A web channel: a guest, an approval by a button, and the same chat after a reload.
page = await visit(open + "/channels/talk");
await accessible(page, "the page of a channel");
await say(page, "hi");
await page.waitForSelector("strong:text('guest')");
await say(page, "Send the weekly report");
await page.click("article.agent .row button >> nth=0");
await page.waitForSelector("text=Sent for the guest.");
await page.reload();
await page.waitForSelector("text=Sent for the guest.");
await accessible(page, "the chat of a guest");
if (await page.locator(".call").count()) wrong("a guest reads calls");
// Each answer says why, also older ones, as what was asked then; commands do not.
for (const answer of ["Hello guest", "Sent for the guest."]) {
  const why = page.locator(`article.agent:has-text('${answer}') .why`);
  await why.locator("summary").click();
  await why.locator(".funnel").waitFor();
}
await accessible(page, "the reasons of a channel's answers");
await page.click("text=Settings");
if (await page.locator("label:has-text('Agent')").count()) wrong("a channel without agents offers a choice");
await page.click("text=/help");
await page.waitForSelector("article.agent:has-text('/whoami')");
if (await last(page).locator(".why").count()) wrong("a command has reasons");
if (shots) await page.screenshot({ path: shots + "/chat-channel.png" });
await page.context().close();

// A person with a token sends a file, and the address forgets the token.
page = await visit(`${closed}/channels/talk#token=${token}`);
if (page.url().includes("#")) wrong("the address keeps the token");
await page.setInputFiles("input[type=file]", [{ name: "notes.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1.4\n%%EOF") }, { name: "photo.png", mimeType: "image/png", buffer: Buffer.from(pixel, "base64") }]);
await say(page, "read this");
await page.waitForSelector("text=Read for the visitor.");
await page.waitForSelector("article.you >> text=notes.pdf");
if (!(await page.locator("article.you img[alt='photo.png']").count())) wrong("a picture that was sent is missing");

// Calls unfold below the question that they are made for, as they run, and after a reload: one that waited for
// a yes ends where it began. What is long is cut, and nothing is markup.
await say(page, "Read the calendar, and send the weekly report");
await page.waitForSelector(".call:has-text('report')");
if (await page.locator(".call:has-text('report') .badge").count()) wrong("a call that waits has ended");
await page.waitForSelector(".call:has-text('read') .badge.good");
await accessible(page, "calls that run");
await page.click("article.agent .row button >> nth=0");
await page.waitForSelector("text=Sent for the visitor.");
for (const again of [false, true]) {
  if (again) await page.goto(`${closed}/channels/talk#token=${token}`).then(() => page.reload()).then(() => page.goto(`${closed}/channels/talk#token=${token}`));
  await page.waitForSelector(".call:has-text('report') .badge.good");
  const order = await page.$$eval("article", (all) => all.map((a) => (a.querySelector(".call") ? "calls" : a.textContent.includes("Read the calendar") ? "asked" : a.textContent.includes("Sent for the visitor.") ? "answered" : "")).filter(Boolean));
  if (order.join() !== "asked,calls,answered") wrong(`the order is ${order}`);
  for (const s of await page.locator(".call summary").all()) await s.click();
  const [read, sent] = await page.locator(".call").allTextContents();
  if (!read.includes("long") || read.length > 6_000 || !read.includes("free")) wrong(`the call has ${read.length} characters: ${read.slice(0, 100)} ${read.slice(-100)}`);
  if (!sent.includes("weekly") || !sent.includes("sent <script>") || /[\u202a-\u202e]/.test(sent)) wrong(`the call is ${sent}`);
  if (await page.locator("article script").count()) wrong("a result became markup");
  await accessible(page, "calls");
}
if (shots) await page.screenshot({ path: shots + "/chat-channel-calls.png", fullPage: true });
await page.setViewportSize({ width: 390, height: 700 });
await accessible(page, "calls, 390 px");
if (shots) await page.screenshot({ path: shots + "/chat-channel-calls-390.png" });

// The tab keeps it, until it counts no more: a page that is loaded again is as it was, at its newest message.
for (let i = 0; i < 12; i++) await say(page, `/help`);
await page.waitForFunction(() => document.querySelectorAll("article.agent").length > 12);
await page.reload();
await page.waitForFunction(() => document.querySelectorAll("article.agent").length > 12);
await page.waitForFunction(() => { const m = document.querySelector("main"); return m.scrollHeight > m.clientHeight && m.scrollHeight - m.scrollTop - m.clientHeight < 2; });
await page.goto("about:blank");
await page.goto(`${closed}/channels/talk#token=x`);
await page.waitForSelector("text=Open this page anew");
if (/token/.test(await page.locator("[role=status]").textContent())) wrong("people read what is for programs");
await page.context().close();

// Another agent, which the channel offers: it sends a picture and files, and a button belongs to who asked. All
// is there again after a reload, and the choice, too.
page = await visit(`${open}/channels/choice#token=${token}`);
await page.click("text=Settings");
await page.selectOption("label:has-text('Agent') select", "second");
await page.focus("textarea");
await say(page, "Draw for me");
await page.waitForSelector("text=Drawn by the second.");
await page.waitForSelector("figure img[alt='pixel.png']");
for (const again of [false, true]) {
  if (again) await page.reload();
  await page.waitForFunction(() => document.querySelector("figure img[alt='pixel.png']")?.naturalWidth > 0);
  const [kept] = await Promise.all([page.waitForEvent("download"), page.click("text=↓ page.html")]);
  if (kept.suggestedFilename() !== "page.html" || !readFileSync(await kept.path(), "utf8").includes("script")) wrong("a file of the agent cannot be saved");
  if (/[\u202a-\u202e]/.test(await page.locator("[role=log]").textContent())) wrong("the name of a file turns others around");
  if (!(await page.locator("header > span").textContent()).includes("second")) wrong("the choice is forgotten");
}
await page.locator("article.agent:has-text('Drawn') .why summary").click();
await page.waitForSelector(".why .funnel");
await accessible(page, "files and reasons in a channel");
if (shots) await page.screenshot({ path: shots + "/chat-channel-files.png", fullPage: true });
await say(page, "Send the weekly report");
await page.waitForSelector("article.agent .row button");
await page.click("text=Settings");
await page.selectOption("label:has-text('Agent') select", "");
await page.focus("textarea");
await page.click("article.agent .row button >> nth=0");
await page.waitForSelector("text=Sent by the second.");
await page.context().close();

// Guests read them where the channel says so.
page = await visit(open + "/channels/open", { locale: "zh-CN", colorScheme: "dark", viewport: { width: 390, height: 700 } });
await say(page, "when?");
await page.waitForSelector("text=Free for the guest.");
await page.reload();
await page.waitForSelector(".call:has-text('read') .badge.good");
await page.click(".call summary");
await page.waitForSelector(".call pre:has-text('free')");
await accessible(page, "calls of a guest");
if (shots) await page.screenshot({ path: shots + "/chat-guest-calls-zh.png" });
await page.context().close();

// A site that the channel lists frames it with one line; another does not.
const context = await browser.newContext({ locale: "en-GB" });
page = await context.newPage();
await page.goto(shop);
const frame = page.frameLocator("iframe");
await frame.locator("textarea:not([disabled])").fill("hi");
await frame.locator("textarea").press("Enter");
await frame.locator("text=In a frame.").waitFor();
await page.reload();
await frame.locator("text=In a frame.").waitFor();
if (shots) await page.screenshot({ path: shots + "/chat-framed.png" });
await page.goto(evil);
await page.waitForTimeout(500);
if (await frame.locator("textarea").count()) wrong("any site frames the chat");

await browser.close();
process.exit(failures ? 1 : 0);
