import { limits } from "../../store/limits.ts";
import type { SearchAnswer, SearchHit, SearchQuery } from "../../store/store.ts";
import { scriptArguments } from "./lua-script.ts";
import type { NamespaceScripts } from "./namespace-scripts.ts";
import { areaName, streamPositionOf } from "./records.ts";
import { searchScript } from "./redis-scripts.ts";

export async function searchText(scripts: NamespaceScripts, { areas, terms }: SearchQuery): Promise<SearchAnswer> {
  const named = { limit: String(limits.searchCandidatesMax), area_count: String(areas.length) };
  const args = scriptArguments(searchScript, named, [...areas.map(areaName), ...terms]);
  const [factsText, documents, totalLength, ...flat] = (await scripts.read(searchScript, args)) as [string, string, string, ...string[]];
  const facts = scripts.show(factsText);
  const hits: SearchHit[] = [];
  for (let i = terms.length; i < flat.length; i += 3 + terms.length)
    hits.push({
      key: flat[i] as string,
      revision: streamPositionOf(flat[i + 1] as string).revision,
      length: Number(flat[i + 2]),
      weights: flat.slice(i + 3, i + 3 + terms.length).map(Number),
    });
  return { revision: facts.revision, documents: Number(documents), totalLength: Number(totalLength), frequencies: flat.slice(0, terms.length).map(Number), hits };
}
