import { useEffect, useState } from "preact/hooks";
import type { ActivityAnswer, ActivityItem } from "../../src/surfaces/dashboard/api.ts";
import { queryText, requestApi } from "./api-client.ts";
import { streamStands, subscribe, unseen } from "./live.ts";

/** The newest changes: read once, then updated by events. */
export function useFeed(api: string, size: number): readonly ActivityItem[] | undefined {
  const [items, setItems] = useState<readonly ActivityItem[]>();
  useEffect(() => {
    const stopping = new AbortController();
    let met: readonly ActivityItem[] = [];
    const read = async () => {
      await streamStands(400);
      const page = await requestApi<ActivityAnswer>(`${api}/activity${queryText({ limit: size })}`, { signal: stopping.signal });
      const newest = page.items[0]?.revision ?? 0;
      setItems([...met.filter(({ revision }) => revision > newest), ...page.items].slice(0, size));
    };
    const unsubscribe = subscribe(({ changes, everything }) => {
      if (everything) return void read().catch(() => {});
      const news = changes.filter(({ heartbeat }) => heartbeat !== true).reverse();
      if (news.length === 0) return;
      met = [...news, ...met].slice(0, size);
      setItems((before) => before && [...unseen(news, before), ...before].slice(0, size));
    });
    setItems(undefined);
    // If this read fails, the overview beside it shows the error.
    read().catch(() => {});
    return () => {
      unsubscribe();
      stopping.abort();
    };
  }, [api, size]);
  return items;
}
