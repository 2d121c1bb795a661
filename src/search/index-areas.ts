import { indexVersion } from "./index-version.ts";

/** Texts of each version of the index have areas of their own. No name of an area has a tilde in it. */
const areaAt = (area: string, version: number): string => (version === 1 ? area : `${area}~${version}`);

/** Where texts of an area are indexed now. */
export const currentArea = (area: string): string => areaAt(area, indexVersion);

/** Where texts of an area may still be that were indexed before. */
export const formerAreas = (area: string): string[] => Array.from({ length: indexVersion - 1 }, (_, i) => areaAt(area, i + 1));

/** The area that a current one is of. */
export const areaOf = (current: string): string => current.replace(/~\d+$/, "");
