/**
 * LangGraph and everything that it and its adapters have as peers, pinned, for `more` of `requirePackage`. All are named and npm chooses none (`flags`),
 * because choosing among the versions of these packages takes npm minutes, or fails.
 */
export const langgraphPackages = {
  more: [
    "@langchain/langgraph@1.4.18",
    "@langchain/langgraph-checkpoint@1.1.5",
    "@langchain/langgraph-sdk@1.12.0",
    "@langchain/protocol@0.0.19",
    "@langchain/core@1.2.13",
    "zod@4.6.7",
  ],
  flags: ["--legacy-peer-deps"],
};
