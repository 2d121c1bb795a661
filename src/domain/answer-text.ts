/** One answer carries about this much text of values at most; what does not fit waits for the next page. As much as one value may have. */
export const answerTextMax = 1_048_576;
