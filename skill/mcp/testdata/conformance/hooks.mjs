const shim = new URL("./fs.mjs", import.meta.url).href;
export async function resolve(specifier, context, next) {
  if (specifier === "fs" && context.parentURL !== shim) return { url: shim, shortCircuit: true };
  return next(specifier, context);
}
