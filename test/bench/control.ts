/** `npm run bench -- control [--only PART]`: what the control plane takes. Each part is a file of its own. */

import { measureChildren } from './control-children.ts';
import { measureFairness, measureSignal, measureTimers } from './control-dispatch.ts';
import { measureFollowers } from './control-followers.ts';
import { measureList } from './control-list.ts';
import { measureStart } from './control-start.ts';
import { measureTracing } from './control-tracing.ts';
import type { Report } from './report.ts';

const parts: Readonly<Record<string, (report: Report) => Promise<void>>> = {
  start: measureStart,
  list: measureList,
  followers: measureFollowers,
  tracing: measureTracing,
  signal: measureSignal,
  timers: measureTimers,
  fairness: measureFairness,
  children: measureChildren,
};

export const controlParts = Object.keys(parts);

/** One part, or all of them. */
export async function measureControl(report: Report, only: string | undefined): Promise<void> {
  for (const [name, measure] of Object.entries(parts)) if (only === undefined || only === name) await measure(report);
}
