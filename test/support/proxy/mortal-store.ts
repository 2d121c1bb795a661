import type { Store } from "../../../src/store/store.ts";

/** A store whose process can be killed: from then on nothing that is asked of it happens, and nothing is ever answered, also not what was asked before. */
export function mortalStore(): { readonly wrap: (store: Store) => Store; die(): void; readonly isDead: boolean } {
  let isDead = false;
  const never = new Promise<never>(() => {});
  const mortal =
    <Args extends readonly unknown[], Answer>(ask: (...args: Args) => Promise<Answer>) =>
    async (...args: Args): Promise<Answer> => {
      if (isDead) return never;
      const answer = await ask(...args);
      return isDead ? never : answer;
    };
  return {
    wrap: (store) => ({
      ...store,
      commit: mortal((commit) => store.commit(commit)),
      read: mortal((...args: Parameters<Store["read"]>) => store.read(...args)) as Store["read"],
      position: mortal(() => store.position()),
    }),
    die: () => {
      isDead = true;
    },
    get isDead() {
      return isDead;
    },
  };
}
