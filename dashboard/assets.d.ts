declare module "*.svg" {
  /** The address of the built file. */
  const address: string;
  export default address;
}
