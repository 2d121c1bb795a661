import { useEffect, useRef, useState } from "preact/hooks";
import { refine } from "./router.ts";

const restMs = 250;

/** What is being typed into the filters of a view. It goes into the address after a moment without a key, and comes from there when a link sets it. */
export function useTyped<Fields extends Readonly<Record<string, string>>>(fields: Fields): readonly [Fields, (typed: Fields) => void] {
  const [typed, setTyped] = useState(fields);
  const typing = useRef(false);
  const inAddress = JSON.stringify(fields);
  const inFields = JSON.stringify(typed);
  useEffect(() => {
    if (!typing.current) setTyped(fields);
    typing.current = false;
  }, [inAddress]);
  useEffect(() => {
    if (inFields === inAddress) return;
    const timer = setTimeout(() => {
      typing.current = true;
      refine(typed);
    }, restMs);
    return () => clearTimeout(timer);
  }, [inFields]);
  return [typed, setTyped];
}
