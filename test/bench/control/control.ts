/** `npm run bench -- control [--only PART]`: what the control plane takes. Each part is a file of its own. */

import type { Report } from '../report.ts';
import { measureChildren } from './children.ts';
import { measureFairness, measureSignal, measureTimers } from './dispatch.ts';
import { measureFollowers } from './followers.ts';
import { measureList } from './list.ts';
import { measureStart } from './start.ts';
import { measureTracing } from './tracing.ts';

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

/** `wanted`: of `controlParts`. */
export async function measureControl(report: Report, wanted: readonly string[]): Promise<void> {
  for (const [name, measure] of Object.entries(parts)) if (wanted.includes(name)) await measure(report);
}
