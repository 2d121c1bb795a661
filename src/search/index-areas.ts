import { indexVersion } from "./index-version.ts";

/** Each version of the index has its own areas. Area names contain no tilde. */
const areaAt = (area: string, version: number): string => (version === 1 ? area : `${area}~${version}`);

/** The area in which texts are indexed now. */
export const currentArea = (area: string): string => areaAt(area, indexVersion);

/** The areas that may still contain texts indexed by earlier versions. */
export const formerAreas = (area: string): string[] => Array.from({ length: indexVersion - 1 }, (_, i) => areaAt(area, i + 1));

/** The original name of a current area. */
export const areaOf = (current: string): string => current.replace(/~\d+$/, "");
