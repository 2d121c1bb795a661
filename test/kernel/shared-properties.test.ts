import fc from "fast-check";
import { expect, test } from "vitest";
import type { Holding } from "../../src/kernel/budget.ts";
import { Budget } from "../../src/kernel/budget.ts";
import { FairQueue } from "../../src/kernel/fair-queue.ts";
import { propertySeed } from "../support/property-seed.ts";

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const runs = { seed: propertySeed, numRuns: 400 } as const;

/** One piece of work on a budget: it wants several amounts one after the other, corrects what it holds, and ends, in the middle of a wait if need be. */
type Step =
  | { readonly do: "open"; readonly owner: number; readonly bytes: number }
  | { readonly do: "more"; readonly which: number; readonly bytes: number }
  | { readonly do: "correct"; readonly which: number; readonly share: number }
  | { readonly do: "release"; readonly which: number };

const which = fc.nat(20);
const bytes = fc.oneof(fc.integer({ min: 1, max: 200 }), fc.double({ min: 0.1, max: 120, noNaN: true }));
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant("open" as const), owner: fc.nat(3), bytes }),
    fc.record({ do: fc.constant("more" as const), which, bytes }),
    fc.record({ do: fc.constant("correct" as const), which, share: fc.double({ min: 0, max: 3, noNaN: true }) }),
    fc.record({ do: fc.constant("release" as const), which }),
  ),
  { maxLength: 60 },
);

interface Piece {
  readonly holding: Holding;
  isWaiting: boolean;
  isReleased: boolean;
}

test("a budget counts the held bytes, admits every caller once all are released, and leaves none waiting without reason", async () => {
  const settings = fc.record({ ownerBytesMax: fc.integer({ min: 20, max: 150 }), reserveBytesMax: fc.nat(60) });
  await fc.assert(
    fc.asyncProperty(settings, steps, async (options, all) => {
      const budget = new Budget(100, options);
      const pieces: Piece[] = [];
      const reserve = (piece: Piece, wanted: number): void => {
        const room = piece.holding.reserve(wanted);
        if (room === undefined) return;
        piece.isWaiting = true;
        void room.then(() => {
          piece.isWaiting = false;
          // Whoever left while it waited gives back what it got.
          if (piece.isReleased) piece.holding.release();
        });
      };
      const check = (): void => {
        expect(budget.usedBytes).toBe(pieces.reduce((sum, { holding }) => sum + holding.bytes, 0));
        expect(budget.waiting).toBe(pieces.filter(({ isWaiting }) => isWaiting).length);
        if (budget.usedBytes === 0) expect(budget.waiting).toBe(0);
      };
      for (const step of all) {
        if (step.do === "open") {
          const piece: Piece = { holding: budget.open(`owner ${step.owner}`), isWaiting: false, isReleased: false };
          pieces.push(piece);
          reserve(piece, step.bytes);
        } else {
          const piece = pieces[step.which % Math.max(1, pieces.length)];
          if (piece === undefined || piece.isReleased) continue;
          if (step.do === "more" && !piece.isWaiting) reserve(piece, step.bytes);
          if (step.do === "correct" && !piece.isWaiting) piece.holding.change(piece.holding.bytes * (step.share - 1));
          if (step.do === "release") {
            piece.isReleased = true;
            piece.holding.release();
          }
        }
        await settle();
        check();
      }
      // Work that goes on ends: nobody waits for ever, in whatever order the rest is given back.
      for (let left = pieces.length + 1; pieces.some(({ isReleased }) => !isReleased); left -= 1) {
        expect(left).toBeGreaterThan(0);
        const next = pieces.find(({ isReleased, isWaiting }) => !isReleased && !isWaiting);
        expect(next).toBeDefined();
        (next as Piece).isReleased = true;
        (next as Piece).holding.release();
        await settle();
        check();
      }
      expect([budget.usedBytes, budget.waiting]).toEqual([0, 0]);
    }),
    runs,
  );
});

/** Requests that come in turns, each with so many parts that take so long. */
const requests = fc.array(
  fc.record({ owner: fc.nat(4), turn: fc.nat(6), parts: fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 4 }), isLeft: fc.boolean() }),
  { minLength: 1, maxLength: 40 },
);

test("a fair queue serves every request to its end, one piece of work at a time, and is empty afterwards", async () => {
  await fc.assert(
    fc.asyncProperty(requests, async (all) => {
      let nowMs = 0;
      const queue = new FairQueue({ turn: (then) => void setImmediate(then), nowMs: () => nowMs });
      let ended = 0;
      const work = async ({ owner, parts, isLeft }: (typeof all)[number]): Promise<void> => {
        const turn = queue.enter(`owner ${owner}`);
        if (turn !== undefined) await turn;
        for (const [i, ms] of parts.entries()) {
          const pause = i === 0 ? undefined : queue.pause(`owner ${owner}`);
          if (pause !== undefined) await pause;
          nowMs += ms;
          // Something else is waited for, such as another server: others go on meanwhile.
          if (isLeft) await settle();
        }
        ended += 1;
      };
      const running: Promise<void>[] = [];
      for (let turn = 0; turn <= 6; turn += 1) {
        for (const request of all) if (request.turn === turn) running.push(work(request));
        await settle();
      }
      // Each turn of the event loop ends something, or nobody waits.
      for (let turns = 0; ended < all.length; turns += 1) {
        expect(turns).toBeLessThan(1_000);
        await settle();
      }
      await Promise.all(running);
      expect([ended, queue.waiting]).toEqual([all.length, 0]);
      expect(queue.enter("next") === undefined || (await settle()) === undefined).toBe(true);
    }),
    runs,
  );
});

test("a caller with small requests is served after a bounded time, however much the others have queued", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 5, maxLength: 60 }), fc.integer({ min: 1, max: 4 }), async (costs, owners) => {
      let nowMs = 0;
      const queue = new FairQueue({ turn: (then) => void setImmediate(then), nowMs: () => nowMs });
      const work = async (owner: string, ms: number): Promise<number> => {
        const cameMs = nowMs;
        const turn = queue.enter(owner);
        if (turn !== undefined) await turn;
        const waitedMs = nowMs - cameMs;
        nowMs += ms;
        return waitedMs;
      };
      const hostile = costs.map((ms, i) => work(`hostile ${i % owners}`, ms));
      const waitedMs = await work("quiet", 1);
      await Promise.all(hostile);
      // One piece of work of each of the others, and a slice: groups are formed of work that is known to be cheap.
      expect(waitedMs).toBeLessThanOrEqual(owners * (40 + 8));
    }),
    runs,
  );
});
