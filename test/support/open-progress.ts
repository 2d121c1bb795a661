const everyMs = 60_000;

/** Tells how far a long campaign is, about once a minute: the runner takes a file that says nothing for long for one that hangs. */
export function openProgress(what: string): (done: number, of: number) => void {
  let toldMs = performance.now();
  return (done, of) => {
    if (performance.now() - toldMs < everyMs) return;
    toldMs = performance.now();
    console.log(`${what}: ${Math.floor((100 * done) / of)} %`);
  };
}
