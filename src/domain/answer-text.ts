/** One answer carries about this much text of values at most; what does not fit waits for the next page. */
export const answerTextMax = 4 * 1024 * 1024;
