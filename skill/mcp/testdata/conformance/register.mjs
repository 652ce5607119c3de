import { File } from "node:buffer";
import { webcrypto } from "node:crypto";
import { register } from "node:module";
register("./hooks.mjs", import.meta.url);
// Node.js 18 has these in modules only.
globalThis.File ??= File;
globalThis.crypto ??= webcrypto;
