import { File } from "node:buffer";
import { register } from "node:module";
register("./hooks.mjs", import.meta.url);
globalThis.File ??= File; // Node.js 18 has it in node:buffer only
