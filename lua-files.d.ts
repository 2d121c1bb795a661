/** Scripts for Redis: their text, put in by the bundler (and by Vitest, see vitest.config.ts). */
declare module "*.lua" {
  const text: string;
  export default text;
}
