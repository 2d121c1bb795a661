import { describe, expect, test } from "vitest";
import { effectsOnce } from "../../../src/verify/campaigns/effects.ts";
import { elsewhere, openCampaign, runAndPrint } from "../../support/campaign.ts";
import { sharedEngines } from "../../support/engines.ts";
import { scaled } from "../../support/scale.ts";

for (const on of sharedEngines)
  describe(`effects whose workers are killed or stopped between any two lines (G20, G21, G22) on ${on.name}`, () => {
    const size = { runs: scaled(on.isServer ? 40 : 120, 4), effects: 6, inParallel: 3 };

    test("take place once each; what is unknown is shown, and the replaced worker begins nothing", async () => {
      const context = await openCampaign({ on });
      const effects = size.runs * size.effects;
      let seen = { unknown: 0, refused: 0 };
      // A worker that is killed when nothing is open shows nothing: again, until enough were met in the middle.
      for (let attempt = 0; seen.unknown <= effects / 12 || seen.refused <= size.runs / 8; attempt += 1) {
        const { violations, figures } = await runAndPrint(`effects on ${on.name}`, () => effectsOnce(elsewhere(context, attempt), size));
        expect(violations).toEqual([]);
        expect(figures).toMatchObject({ effects, performed: effects });
        seen = { unknown: seen.unknown + (figures.unknown_shown ?? 0), refused: seen.refused + (figures.stopped_refused ?? 0) };
      }
    });
  });
