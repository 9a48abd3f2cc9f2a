import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { precompress } from "./scripts/precompress.ts";

const SERVER = process.env.TURNOUT_SERVER ?? "http://127.0.0.1:8470";
const PROXIED = ["/api", "/health", "/healthz", "/readyz", "/metrics"];

export default defineConfig({
  // Relative addresses: the server writes the prefix below which it is served into the page.
  base: "./",
  // Elements are made by src/jsx, which lets no control character of a text into a page.
  plugins: [react({ jsxImportSource: "@/jsx" }), tailwindcss(), precompress()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: "../src/turnout/server/static/ui",
    emptyOutDir: true,
    target: "es2022",
    // The policy of the page allows no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
  },
  worker: { format: "es" },
  server: {
    // The Host header stays that of the page, so that the server sees a request from its own origin.
    proxy: Object.fromEntries(PROXIED.map((path) => [path, { target: SERVER, changeOrigin: false }])),
  },
});
