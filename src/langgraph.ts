/** LangGraph's checkpointer and store on a Holdfast store. Needs the package @langchain/langgraph-checkpoint, which LangGraph brings. */

export { HoldfastSaver, type HoldfastSaverOptions } from "./surfaces/langgraph/holdfast-saver.ts";
export { HoldfastStore, type HoldfastStoreOptions } from "./surfaces/langgraph/holdfast-store.ts";
export type { ClaimThreadOptions } from "./surfaces/langgraph/thread-claims.ts";
