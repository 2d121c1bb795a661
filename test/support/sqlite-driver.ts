/** The driver that `auto` must choose on the Node that runs these tests: its own SQLite from 22.23 and 24.21 on, the packaged one before. */
export function expectedDriver(nodeVersion = process.versions.node): "node" | "photostructure" {
  const [major = 0, minor = 0] = nodeVersion.split(".").map(Number);
  const hasSafeSqlite = (major === 22 && minor >= 23) || (major === 24 && minor >= 21) || major > 25;
  return hasSafeSqlite ? "node" : "photostructure";
}
