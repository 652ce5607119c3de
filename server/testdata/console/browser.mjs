// Starts the machine's Chromium, or the one from npm, which needs no package of the system. That one
// has no zygote process, and cannot close a context where it is a single process.
import { existsSync } from "node:fs";
import sparticuz from "@sparticuz/chromium";
import { chromium } from "playwright-core";

const installed = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
export const launch = async () => chromium.launch({
  executablePath: installed ?? (await sparticuz.executablePath()),
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-zygote"],
});
