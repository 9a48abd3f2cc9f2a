import { mergeConfig } from "vite";
import { defineConfig } from "vitest/config";
import vite from "./vite.config.ts";

/** Apart from the build, which does not need the packages of the tests. */
export default mergeConfig(
  vite,
  defineConfig({
    test: {
      include: ["src/**/*.test.{ts,tsx}"],
      environment: "node",
      restoreMocks: true,
    },
  }),
);
