/** Maps items in order with at most `inFlightMax` calls at a time: a thread may have more channels than a server takes requests. */
export async function inParallel<Item, Result>(items: readonly Item[], map: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let i = next++; i < items.length; i = next++) results[i] = await map(items[i] as Item);
  };
  await Promise.all(Array.from({ length: Math.min(inFlightMax, items.length) }, work));
  return results;
}

const inFlightMax = 16;
