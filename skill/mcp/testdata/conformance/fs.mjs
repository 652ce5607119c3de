export * from "node:fs";
export { default } from "node:fs";
export const globSync = () => [];
