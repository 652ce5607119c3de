// Signs in to the console at its public address in Chromium: with an operator's key, and at an OpenID
// Connect provider. Prints what is wrong. Its arguments are the address and an operator's key; it writes
// to standard output "down", and goes on when the provider is no longer there.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { launch } from "./browser.mjs";

const [address, key, shots] = process.argv.slice(2);
const browser = await launch();
const axe = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
let failures = 0;
const wrong = (text) => { failures++; console.log(text); };

const open = async () => {
  const context = await browser.newContext({ locale: "en-GB", ignoreHTTPSErrors: true });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.on("pageerror", (e) => wrong(`${page.url()}: ${e}`));
  await page.goto(address + "/console/tools");
  await page.waitForSelector("main.door");
  return page;
};
const admin = (page, path = "/admin/sessions") => page.evaluate(async (p) => (await fetch(p, { headers: { "Etui-Console": localStorage.getItem("etui.proof") ?? "" } })).status, path);
const cookies = async (page, here) => {
  const all = (await page.context().cookies(address)).filter((c) => c.name.includes("etui"));
  if (!all.every((c) => c.httpOnly && c.secure && c.sameSite === "Strict" && c.name.startsWith("__Host-"))) wrong("the cookies: " + JSON.stringify(all));
  if (all.map((c) => c.name).join() !== here) wrong(`the cookies are ${all.map((c) => c.name)}, not ${here}`);
};

// atProvider signs in there, and returns what the address was when the browser came back.
async function atProvider(page, name) {
  await page.click("text=Sign in at");
  await page.waitForSelector("input[name=login]");
  await page.fill("input[name=login]", name);
  await page.fill("input[name=password]", "x");
  await page.click("button[type=submit]");
  await page.waitForURL(/interaction/);
  await page.click("button[type=submit]"); // the provider asks whether etui may know
}

// A wrong key does not, an operator's does.
let page = await open();
await page.evaluate(axe);
for (const v of (await page.evaluate(() => window.axe.run({ resultTypes: ["violations"] }))).violations) wrong(`the door: ${v.id}`);
if (shots) await page.screenshot({ path: shots + "/door-elsewhere.png" });
await page.fill("#key", "wrong");
await page.click("text=Sign in >> nth=-1");
await page.waitForSelector("role=alert");
await page.fill("#key", key);
await page.keyboard.press("Enter");
await page.waitForSelector("nav");
await cookies(page, "__Host-etui-console");
if ((await admin(page)) !== 200) wrong("the session of a key opens nothing");
await page.click("text=Sign out");
await page.waitForSelector("main.door");
if ((await admin(page)) === 200) wrong("a session counts after signing out");

// Somebody with a role comes in; the address keeps neither code nor state.
for (const [name, said, role] of [["ann", "ann@example.com", "owner"], ["carl", "carl@example.com", "viewer"]]) {
  page = await open();
  const sent = [];
  page.on("request", (r) => sent.push(r.url()));
  await atProvider(page, name);
  await page.waitForSelector("nav");
  if (!(await page.textContent("nav")).toLowerCase().includes(`${said} · ${role}`)) wrong(`${name} is ${await page.textContent("nav .soft")}`);
  if (new URL(page.url()).search || page.url().includes("/back")) wrong("the address is " + page.url());
  const asked = new URL(sent.find((u) => u.includes("code_challenge="))).searchParams;
  if (asked.get("code_challenge_method") !== "S256" || !asked.get("nonce") || !asked.get("state")) wrong("the provider was asked " + asked);
  await cookies(page, "__Host-etui-console");
  if ((await admin(page, "/admin/keys")) !== 200) wrong(`${name} cannot read`);
  const back = sent.find((u) => u.includes("/console/back?"));
  // What came back is of no use to another browser, nor again to this one.
  for (const other of [await open(), page]) {
    await other.goto(back);
    await other.waitForSelector(other === page ? "nav" : "role=alert");
  }
}

// Who signs out is signed out at the provider, too: it asks for the name again. The address for that has a token of
// theirs, so the cookie alone, which every port of the host gets, does not get it.
page = await open();
await atProvider(page, "ann");
await page.waitForSelector("nav");
const out = await page.evaluate(async () => (await fetch("/console/session", { method: "DELETE" })).json());
if (out.url) wrong("the cookie alone gets a token of a person");
page = await open();
await atProvider(page, "ann");
await page.waitForSelector("nav");
const left = page.waitForRequest((r) => r.url().includes("/session/end?"));
await page.click("text=Sign out");
const ends = new URL((await left).url()).searchParams;
if (ends.get("client_id") !== "etui" || JSON.parse(atob(ends.get("id_token_hint").split(".")[1].replaceAll("-", "+").replaceAll("_", "/"))).sub !== "ann") wrong(`the session ends by ${ends}`);
await page.click("button[name=logout][value=yes]");
await page.waitForSelector("text=Sign-out Success");
if (shots) await page.screenshot({ path: shots + "/signed-out.png" });
await page.goto(address + "/console/");
await page.waitForSelector("main.door");
if ((await admin(page)) === 200) wrong("a session counts after signing out at the provider");
await page.click("text=Sign in at");
await page.waitForSelector("input[name=login]");

// Nobody else does: no role, an address that the provider has not verified, an error as a text.
page = await open();
await atProvider(page, "bob");
await page.waitForSelector("text=gives you a role");
await cookies(page, "");
if (shots) await page.screenshot({ path: shots + "/door-no-role.png" });
await page.goto(address + "/console/back?error=access_denied%3Cb%3E!&error_description=call%20555");
await page.waitForSelector("text=access_deniedb");
if ((await page.textContent("main")).includes("555")) wrong("the page shows a text of anybody");

// A provider that is down leaves the other ways.
console.log("down");
for await (const _ of createInterface(process.stdin)) break;
page = await open();
await page.click("text=Sign in at");
await page.waitForSelector("text=does not");
if (shots) await page.screenshot({ path: shots + "/door-down.png" });
await page.fill("#key", key);
await page.keyboard.press("Enter");
await page.waitForSelector("nav");

await browser.close();
process.exit(failures ? 1 : 0);
