import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** An element's width. Charts are drawn in real pixels, so that their text keeps its size. */
export function useWidth<E extends Element>(): readonly [RefObject<E | null>, number] {
  const element = useRef<E>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const target = element.current;
    if (target === null) return;
    setWidth(Math.floor(target.getBoundingClientRect().width));
    const observer = new ResizeObserver(([entry]) => entry !== undefined && setWidth(Math.floor(entry.contentRect.width)));
    observer.observe(target);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}
