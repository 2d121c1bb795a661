import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

/** For suites of other projects, which expect their runner's functions as globals, while they are collected and while they run. */
Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it });
