import { setLines } from "./set-lines.ts";

const systems =
  "Harbor Quarry Lantern Orchard Beacon Meadow Anvil Compass Granite Willow Falcon Juniper Marble Cobalt Ember Thistle Raven Saffron Tundra Velvet Walnut Zephyr Bramble Cinder Drift Elm Fjord Glacier".split(
    " ",
  );
const teams = "catering facilities warehouse training reception security-desk workshop gardening printing archive".split(" ");
const functions = "openCurtain printBadge drawFloorPlan countChairs weighParcel ringBell sortKeys foldMap paintSign rollDice".split(" ");
const paths = "rooms/plan.csv badge/print.ini floor/map.svg desk/list.md shop/signs.txt hall/seats.json garden/beds.yml tour/stops.toml".split(" ");
const foreignSystems = 10;

/** About 2,400 notes that share words with the real ones: identical in each run, each note with its own names and numbers. */
export function* nearMisses(folder: string): Generator<string> {
  const fill = (template: string, seed: number): string => {
    let step = seed * 31 + 7;
    const pick = (count: number): number => {
      step = (step * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((step / 2_147_483_648) * count);
    };
    const slots: Readonly<Record<string, () => string>> = {
      sys: () => systems[seed % systems.length] as string,
      team: () => teams[pick(teams.length)] as string,
      fn: () => functions[pick(functions.length)] as string,
      path: () => paths[pick(paths.length)] as string,
      n: () => String(3 + pick(90)),
      m: () => String(100 + pick(90)),
      hour: () => String(6 + pick(16)).padStart(2, "0"),
      minute: () => String(5 * pick(12)).padStart(2, "0"),
    };
    return template.replaceAll(/\{(\w+)\}/g, (slot, name: string) => slots[name]?.() ?? slot);
  };
  for (const [i, [, template]] of setLines(folder, "near-misses.txt").entries()) for (let s = 0; s < systems.length; s += 1) yield fill(template, i * systems.length + s);
  for (const [i, [, template]] of setLines(folder, "near-misses-languages.txt").entries())
    for (let s = 0; s < foreignSystems; s += 1) yield fill(template, 7_919 + i * systems.length + s);
}
