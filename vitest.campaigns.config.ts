import { defineConfig } from "vitest/config";
import shared from "./vitest.config.ts";

/** Campaigns start dozens of processes each: one file at a time. `npm run test:campaigns` runs them. */
export default defineConfig({ plugins: shared.plugins, test: { ...shared.test, include: ["test/**/*.campaign.ts"], fileParallelism: false } });
