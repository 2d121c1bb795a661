import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Me } from "../src/surfaces/dashboard/api.ts";
import { apiPath } from "./data/api-client.ts";
import { mayWrite } from "./data/session.ts";

export interface ViewContext {
  readonly me: Me;
  readonly namespace: string;
}

export const CurrentView = createContext<ViewContext | undefined>(undefined);

export function useView() {
  const view = useContext(CurrentView);
  if (view === undefined) throw new Error("A view is shown without its namespace.");
  return { ...view, api: apiPath(view.namespace), canWrite: mayWrite(view.me) };
}
