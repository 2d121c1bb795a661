import { useEffect, useState } from "preact/hooks";

/** A value that parts of the page follow. */
export interface Cell<T> {
  get(): T;
  set(value: T): void;
  follow(listener: (value: T) => void): () => void;
}

export function cell<T>(initial: T): Cell<T> {
  let value = initial;
  const listeners = new Set<(value: T) => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener(next);
    },
    follow(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The cell's value now, drawn again when it changes. */
export function useCell<T>(source: Cell<T>): T {
  const [value, setValue] = useState(source.get());
  useEffect(() => {
    // It may have changed between drawing and this moment.
    setValue(() => source.get());
    return source.follow((next) => setValue(() => next));
  }, [source]);
  return value;
}
