/** The one place in the code that names the version; a test holds it equal to package.json. */
export const version = "0.1.0";
