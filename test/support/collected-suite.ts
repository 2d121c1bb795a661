import { expect } from "vitest";

type Work = () => unknown;
interface Group {
  readonly name: string;
  readonly hooks: Readonly<Record<"beforeAll" | "beforeEach" | "afterEach" | "afterAll", Work[]>>;
  readonly items: (Group | { readonly name: string; readonly work: Work })[];
}

const newGroup = (name: string): Group => ({ name, hooks: { beforeAll: [], beforeEach: [], afterEach: [], afterAll: [] }, items: [] });

/** Runs a suite that registers its tests with the globals `describe` and `it`, and tells what failed instead of failing: so that a suite can be seen to find a defect. */
export async function runCollected(register: () => void): Promise<{ readonly passed: number; readonly failed: readonly string[] }> {
  const root = newGroup("");
  let current = root;
  const add = (name: string, work: Work): void => void current.items.push({ name, work });
  const describe = (name: string, body: () => void): void => {
    const outer = current;
    const group = newGroup(name);
    outer.items.push(group);
    current = group;
    body();
    current = outer;
  };
  const it = Object.assign(add, {
    skip: () => {},
    each: (cases: readonly unknown[]) => (name: string, work: (given: unknown) => unknown) => {
      for (const given of cases) add(`${name} ${JSON.stringify(given)}`, () => work(given));
    },
  });
  const hook = (name: keyof Group["hooks"]) => (work: Work) => void current.hooks[name].push(work);
  const suites = Object.assign(describe, {
    each: (cases: readonly unknown[]) => (name: string, body: (given: unknown) => void) => {
      for (const given of cases) describe(`${name} ${String(given)}`, () => body(given));
    },
  });
  const globals = {
    describe: suites,
    it,
    beforeAll: hook("beforeAll"),
    beforeEach: hook("beforeEach"),
    afterEach: hook("afterEach"),
    afterAll: hook("afterAll"),
    // A soft failure would be reported as one of the test that runs this.
    expect: Object.assign((value: unknown) => expect(value), expect, { soft: expect }),
  };
  const replaced = Object.fromEntries(Object.keys(globals).map((name) => [name, (globalThis as Record<string, unknown>)[name]]));
  Object.assign(globalThis, globals);
  try {
    register();
    const result = { passed: 0, failed: [] as string[] };
    await runGroup(root, [], result);
    return result;
  } finally {
    Object.assign(globalThis, replaced);
  }
}

async function runGroup({ name, hooks, items }: Group, outer: readonly Group["hooks"][], result: { passed: number; readonly failed: string[] }): Promise<void> {
  const all = [...outer, hooks];
  try {
    for (const work of hooks.beforeAll) await work();
    for (const item of items) {
      if ("items" in item) await runGroup(item, all, result);
      else if (await passes([...all.flatMap(({ beforeEach }) => beforeEach), item.work, ...all.flatMap(({ afterEach }) => afterEach)])) result.passed += 1;
      else result.failed.push(`${name}: ${item.name}`);
    }
  } catch (error) {
    result.failed.push(`${name}: ${String(error)}`);
  }
  for (const work of hooks.afterAll) await work();
}

async function passes(works: readonly Work[]): Promise<boolean> {
  try {
    for (const work of works) await work();
    return true;
  } catch {
    return false;
  }
}
