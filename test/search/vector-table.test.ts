import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ShortVector } from "../../src/search/short-vector.ts";
import { packVectors, toShortVector, unpackVectors } from "../../src/search/short-vector.ts";
import { VectorTable } from "../../src/search/vector-table.ts";
import { propertySeed } from "../support/property-seed.ts";

const short = (values: ArrayLike<number>): ShortVector => toShortVector(values) as ShortVector;
const product = (a: ShortVector, b: ShortVector): number => a.components.reduce((sum, value, i) => sum + value * (b.components[i] as number), 0) * a.scale * b.scale;

describe("vectors in 8 bits", () => {
  test("have length 1 and keep their direction", () => {
    const vector = short([3, 4, 0]);
    expect(product(vector, vector)).toBeCloseTo(1, 2);
    expect(product(vector, short([4, 3, 0]))).toBeCloseTo(0.96, 2);
  });

  test("have none where there is no direction", () => {
    for (const values of [[], [0, 0], [Number.NaN, 1], [Number.POSITIVE_INFINITY, 1]]) expect(toShortVector(values)).toBeUndefined();
  });

  test("come back from the store as they were; other bytes are refused", () => {
    const vectors = [short([1, -2, 3]), short([-0.5, 0.25, 0])];
    expect(unpackVectors(packVectors(vectors), 3)).toEqual(vectors);
    expect(unpackVectors(packVectors(vectors), 4)).toBeUndefined();
    expect(unpackVectors("", 3)).toBeUndefined();
  });
});

describe("a table", () => {
  test("compares as plain arithmetic does, whatever was added, replaced and removed before", () => {
    const component = fc.integer({ min: -100, max: 100 });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 70 }).chain((dimensions) => {
          const vector = fc.array(component, { minLength: dimensions, maxLength: dimensions }).filter((values) => values.some((value) => value !== 0));
          const change = fc.record({ key: fc.integer({ min: 0, max: 6 }), vectors: fc.option(fc.array(vector, { minLength: 1, maxLength: 3 }), { nil: undefined }) });
          return fc.record({ dimensions: fc.constant(dimensions), changes: fc.array(change, { maxLength: 40 }), asked: fc.array(vector, { minLength: 1, maxLength: 4 }) });
        }),
        ({ dimensions, changes, asked }) => {
          const table = new VectorTable(dimensions);
          const plain = new Map<string, readonly ShortVector[]>();
          for (const { key, vectors } of changes) {
            if (vectors === undefined) {
              table.remove(`k${key}`);
              plain.delete(`k${key}`);
            } else {
              table.put(`k${key}`, key, vectors.map(short));
              plain.set(`k${key}`, vectors.map(short));
            }
          }
          const questions = asked.map(short);
          const cosineOf = (vectors: readonly ShortVector[]): number =>
            questions.reduce((sum, question) => sum + Math.max(-1, ...vectors.map((vector) => product(question, vector))) / questions.length, 0);
          const nearness = table.compare(questions);
          expect(table.size).toBe(plain.size);
          for (let key = 0; key <= 6; key += 1) {
            const vectors = plain.get(`k${key}`);
            const found = nearness.of(`k${key}`);
            if (vectors === undefined) expect(found).toBeUndefined();
            else expect(found).toEqual({ cosine: expect.closeTo(cosineOf(vectors), 9), revision: key });
          }
          const cosines = nearness.nearest(3).map(({ cosine }) => cosine);
          const best = [...plain.values()].map(cosineOf).sort((a, b) => b - a);
          expect(cosines).toEqual(best.slice(0, 3).map((cosine) => expect.closeTo(cosine, 9)));
        },
      ),
      { seed: propertySeed, numRuns: 150 },
    );
  });

  test("holds no more bytes than it may, and a text whole or not at all", () => {
    const [dimensions, bytesMax] = [64, 100_000];
    const table = new VectorTable(dimensions, bytesMax);
    const vectors = (count: number) => Array.from({ length: count }, (_, n) => short(Array.from({ length: dimensions }, (_, i) => Math.sin(n + i + 1))));
    let held = 0;
    while (table.put(`k${held}`, held, vectors(3))) held += 1;
    expect(table.size).toBe(held);
    expect(held * 3 * dimensions).toBeGreaterThan(bytesMax / 2);
    expect(held * 3 * (dimensions + 16)).toBeLessThanOrEqual(bytesMax);
    expect(table.compare([short(Array.from({ length: dimensions }, (_, i) => Math.sin(i + 1)))]).of(`k${held}`)).toBeUndefined();
    table.remove("k0");
    expect([table.put("new", 1, vectors(5)), table.put("new", 1, vectors(3)), table.size]).toEqual([false, true, held]);
  });

  test("grows, and chooses among what is accepted", () => {
    const table = new VectorTable(4);
    for (let n = 0; n < 5_000; n += 1) table.put(`k${n}`, n, [short([Math.cos(n), Math.sin(n), 0, 0.1])]);
    const nearness = table.compare([short([1, 0, 0, 0.1])]);
    const best = Array.from({ length: 5_000 }, (_, n) => n).sort((a, b) => Math.cos(b) - Math.cos(a));
    expect(best.slice(0, 20)).toContain(Number(nearness.nearest(1)[0]?.key.slice(1)));
    expect(nearness.nearest(2, (key) => key === "k3" || key === "k4999").map(({ key }) => key)).toEqual(Math.cos(3) > Math.cos(4999) ? ["k3", "k4999"] : ["k4999", "k3"]);
  });
});
