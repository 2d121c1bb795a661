interface FairQueueOptions {
  /** Calls back once the event loop has handled what is already queued. */
  turn(then: () => void): void;
  nowMs(): number;
  /** How long work may run before it yields to the event loop. */
  readonly sliceMs?: number;
  /** Calls back when the work just started has ended or is waiting for something. */
  settle?(then: () => void): void;
}

/** The queued work of one owner. */
interface OwnerQueue {
  readonly owner: string;
  readonly waiting: (() => void)[];
  /** Start-time fair queuing: the virtual time at which this queue's next piece of work begins. */
  nextAtMs: number;
  /** The estimated cost of one piece of its work; rises at once and falls slowly. */
  costMs: number;
}

interface Run {
  readonly queue: OwnerQueue;
  readonly count: number;
  readonly beganMs: number;
}

const sliceMsDefault = 8;
/** Requests of one owner that are started together, so that their code stays in the processor's cache. */
const groupMax = 32;
const queuesMax = 1_024;
const costFall = 0.1;

/**
 * Shares one event loop among owners by the time their work takes. The owner that has used the least goes next,
 * however many requests the others have queued and however expensive each of those is. A request on an idle server
 * starts at once. Work that takes longer than a slice calls `pause` between its parts.
 */
export class FairQueue {
  readonly #turn: FairQueueOptions["turn"];
  readonly #nowMs: () => number;
  readonly #settle: (then: () => void) => void;
  readonly #sliceMs: number;
  readonly #queues = new Map<string, OwnerQueue>();
  #waiting = 0;
  #virtualMs = 0;
  #run: Run | undefined;
  #sliceEndsMs = 0;
  #isTurning = false;
  #came = 0;
  #cameBefore = 0;

  constructor({ turn, nowMs, settle = afterMicrotasks, sliceMs = sliceMsDefault }: FairQueueOptions) {
    this.#turn = turn;
    this.#nowMs = nowMs;
    this.#settle = settle;
    this.#sliceMs = sliceMs;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Called before work on a request starts. Resolves when it is the owner's turn; undefined: at once. */
  enter(owner: string): Promise<void> | undefined {
    this.#came += 1;
    this.#endTurn();
    // Requests that arrive together are collected first, so that the fair order is known before any of them starts.
    return this.#came > 1 || this.#cameBefore > 1 ? this.#wait(owner) : this.#start(owner);
  }

  /** Called between two parts of long work. Undefined: the slice is not used up yet. */
  pause(owner: string): Promise<void> | undefined {
    const run = this.#run;
    if (run === undefined) return this.#start(owner);
    return run.queue.owner === owner && this.#nowMs() - run.beganMs < this.#sliceMs ? undefined : this.#wait(owner);
  }

  #start(owner: string): Promise<void> | undefined {
    if (this.#run !== undefined || this.#waiting > 0) return this.#wait(owner);
    this.#sliceEndsMs = this.#nowMs() + this.#sliceMs;
    this.#begin(this.#queueOf(owner), 1);
    return undefined;
  }

  #wait(owner: string): Promise<void> {
    return new Promise((go) => {
      const queue = this.#queueOf(owner);
      // An idle owner earns no credit: it starts level with the others, not ahead of everything they have queued.
      if (queue.waiting.length === 0) queue.nextAtMs = Math.max(queue.nextAtMs, this.#virtualMs);
      queue.waiting.push(go);
      this.#waiting += 1;
      this.#endTurn();
    });
  }

  #endTurn(): void {
    if (this.#isTurning) return;
    this.#isTurning = true;
    this.#turn(() => {
      this.#isTurning = false;
      this.#cameBefore = this.#came;
      this.#came = 0;
      // The running work continues with the queue when it ends.
      if (this.#run !== undefined) return;
      this.#sliceEndsMs = this.#nowMs() + this.#sliceMs;
      this.#next();
    });
  }

  #next(): void {
    let next: OwnerQueue | undefined;
    for (const queue of this.#queues.values()) if (queue.waiting.length > 0 && (next === undefined || queue.nextAtMs < next.nextAtMs)) next = queue;
    if (next === undefined) return;
    const group = next.waiting.splice(0, Math.max(1, Math.min(groupMax, Math.floor(this.#sliceMs / Math.max(next.costMs, 0.001)))));
    this.#waiting -= group.length;
    this.#begin(next, group.length);
    for (const go of group) go();
  }

  #begin(queue: OwnerQueue, count: number): void {
    this.#virtualMs = Math.max(this.#virtualMs, queue.nextAtMs);
    this.#run = { queue, count, beganMs: this.#nowMs() };
    this.#settle(() => this.#end());
  }

  #end(): void {
    const { queue, count, beganMs } = this.#run as Run;
    this.#run = undefined;
    const nowMs = this.#nowMs();
    const spentMs = Math.max(0, nowMs - beganMs);
    queue.nextAtMs = Math.max(queue.nextAtMs, this.#virtualMs) + spentMs;
    const eachMs = spentMs / count;
    queue.costMs = eachMs > queue.costMs ? eachMs : queue.costMs + (eachMs - queue.costMs) * costFall;
    if (this.#waiting === 0) return;
    if (nowMs < this.#sliceEndsMs) this.#next();
    else this.#endTurn();
  }

  #queueOf(owner: string): OwnerQueue {
    let queue = this.#queues.get(owner);
    if (queue === undefined) {
      if (this.#queues.size >= queuesMax) this.#forgetIdle();
      queue = { owner, waiting: [], nextAtMs: this.#virtualMs, costMs: this.#sliceMs };
      this.#queues.set(owner, queue);
    }
    return queue;
  }

  #forgetIdle(): void {
    for (const [owner, { waiting, nextAtMs }] of this.#queues)
      if (waiting.length === 0 && nextAtMs <= this.#virtualMs && this.#run?.queue.owner !== owner) this.#queues.delete(owner);
  }
}

/** process.nextTick callbacks queued here run once no microtask is left. By then, every promise that could continue has done so. */
const afterMicrotasks = (then: () => void): void => queueMicrotask(() => process.nextTick(then));
