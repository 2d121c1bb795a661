import { useEffect, useRef, useState } from "preact/hooks";
import { refine } from "./router.ts";

const restMs = 250;

/** The text typed into a view's filters. It is copied into the address after a short pause in typing, and updated when a link changes the address. */
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
