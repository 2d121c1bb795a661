import { exposition, expositionType } from "../../telemetry/exposition.ts";
import type { OpenMeter } from "../../telemetry/open-meter.ts";

/** The response of `/metrics`. The metrics cover the whole process and all namespaces, so only principals that may use every namespace may read them. */
export const metricsAnswer = async (meter: OpenMeter): Promise<{ readonly type: string; readonly text: string }> => ({
  type: expositionType,
  text: exposition(await meter.collect()),
});
