import { instructionsFor } from "../src/surfaces/mcp/instructions.ts";
import type { Profile } from "../src/tools/profiles.ts";
import { profiles, selectTools } from "../src/tools/profiles.ts";
import { tokenCost } from "../src/tools/token-cost.ts";
import type { Figure } from "./report.ts";

const tokensMax: Readonly<Partial<Record<Profile, number>>> = { all: 7_500, coding: 2_500, coordination: 2_500 };

/** The text that a model reads on every turn for each profile: tools, descriptions and instructions. */
export const measureTokens = async (): Promise<Figure[]> =>
  profiles.map((profile) => {
    const tools = selectTools({ profile });
    const tokens = tokenCost(tools, instructionsFor(tools));
    const most = tokensMax[profile];
    return {
      what: `profile ${profile}: ${tools.length} tools and instructions`,
      unit: "tokens",
      value: { median: tokens, min: tokens, max: tokens },
      budget: most === undefined ? undefined : { atMost: most },
    };
  });
