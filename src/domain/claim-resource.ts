/** The lease that is the claim of a run. */
export const claimResource = (runId: string): string => `workflow/${runId}`;
