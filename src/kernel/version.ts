/** The only place in the code that states the version; a test checks that it equals package.json. */
export const version = "0.1.0";
