import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The files in dist are committed, so nothing in them may depend on the machine that builds them.
export default defineConfig({
  base: "/console/",
  plugins: [react()],
  build: {
    outDir: "dist",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    rollupOptions: { input: ["index.html", "chat.html"] },
  },
  server: { proxy: { "/api": "http://127.0.0.1:3884", "/admin": "http://127.0.0.1:3884" } },
});
