import { listSkills } from "../../domain/knowledge/list-notes.ts";
import { searchEverything } from "../../domain/overview/search-everything.ts";
import { listKnownWorkspaces } from "../../domain/workspace/known-workspaces.ts";
import type { SearchResults } from "./api.ts";
import type { ApiRoute } from "./api-route.ts";
import { readQuery, requiredText } from "./read-query.ts";

const questionBytesMax = 512;
const workspacesMax = 200;

export const searchRoute: ApiRoute = {
  method: "GET",
  path: "/api/ns/:namespace/search",
  needs: "read",
  async handle({ base, query }) {
    const { q } = readQuery(query, { q: requiredText(questionBytesMax) });
    const [{ workspaces }, skills] = await Promise.all([listKnownWorkspaces(base.store, workspacesMax), listSkills(base)]);
    const view: SearchResults = await searchEverything(base, q.trim(), { workspaceIds: workspaces.map(({ id }) => id), skills });
    return { json: view };
  },
};
