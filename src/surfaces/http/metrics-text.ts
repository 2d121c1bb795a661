import { exposition, expositionType } from "../../telemetry/exposition.ts";
import type { OpenMeter } from "../../telemetry/open-meter.ts";

/** What `/metrics` answers. The figures are of the whole process, all namespaces together: only who may use every namespace may read them. */
export const metricsAnswer = async (meter: OpenMeter): Promise<{ readonly type: string; readonly text: string }> => ({
  type: expositionType,
  text: exposition(await meter.collect()),
});
