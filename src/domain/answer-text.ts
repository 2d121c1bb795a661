/** Values in one response add up to at most about this many characters: the maximum size of a single value. The rest goes to the next page. */
export const answerTextMax = 1_048_576;
