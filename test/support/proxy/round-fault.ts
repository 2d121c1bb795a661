/** Between whom a message breaks off, or at which boundary of a call something happens. */
const pipes = ["toProxy", "toUpstream", "fromUpstream", "toClient"] as const;
const commits = ["begin", "finish"] as const;

export interface RoundFault {
  readonly at: (typeof pipes)[number] | (typeof commits)[number] | "beforeEffect" | "afterEffect" | "late" | "answeredTwice" | "twice";
  readonly victim: "client" | "proxy" | "upstream" | "store";
  /** Of a pipe: how much passes. */
  readonly afterBytes: number;
  /** Of a commit: whether it has taken effect by then. */
  readonly isApplied: boolean;
}

/** The ends of each pipe. */
const ends: Readonly<Record<(typeof pipes)[number], readonly RoundFault["victim"][]>> = {
  toProxy: ["client", "proxy"],
  toUpstream: ["proxy", "upstream"],
  fromUpstream: ["upstream", "proxy"],
  toClient: ["proxy", "client"],
};

/** One of every kind is as likely; of messages that break off, the place is random, with the boundaries themselves among them. */
export function pickFault(random: (below: number) => number): RoundFault {
  const oneOf = <T>(list: readonly T[]): T => list[random(list.length)] as T;
  const some = { afterBytes: random(4) === 0 ? 0 : random(140), isApplied: random(2) === 0 };
  switch (random(6)) {
    case 0:
    case 1: {
      const at = oneOf(pipes);
      return { at, victim: oneOf(ends[at]), ...some };
    }
    case 2:
    case 3:
      return { at: oneOf(commits), victim: oneOf(["proxy", "store"] as const), ...some };
    case 4:
      return { at: oneOf(["beforeEffect", "afterEffect"] as const), victim: oneOf(["client", "proxy", "upstream"] as const), ...some };
    default:
      return { at: oneOf(["late", "answeredTwice", "twice"] as const), victim: "client", ...some };
  }
}
