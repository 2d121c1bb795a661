import { useEffect, useState } from "preact/hooks";

/** A value that components subscribe to. */
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

/** Returns the cell's value and re-renders the component when it changes. */
export function useCell<T>(source: Cell<T>): T {
  const [value, setValue] = useState(source.get());
  useEffect(() => {
    // The value may have changed between rendering and this effect.
    setValue(() => source.get());
    return source.follow((next) => setValue(() => next));
  }, [source]);
  return value;
}
