/** Owns the report of the log's size and growth. It removes nothing. */

import { type Loop, startLoop } from './backoff.ts';
import type { Ports } from './ports.ts';

/** Period of the report of the log's growth, in milliseconds. */
const GROWTH_PERIOD_MS = 60_000;

export interface LogGrowth {
  readonly sizeBytes: number;
  /** Growth since the previous report; 0 in the first. */
  readonly grownBytes: number;
  /** Events in the log, over all partitions. */
  readonly eventCount: number;
  readonly partitionCount: number;
}

export interface GrowthOptions {
  readonly ports: Pick<Ports, 'log' | 'telemetry' | 'clock'>;
  readonly onReport: (growth: LogGrowth) => void;
  readonly onError: (where: string, error: unknown) => void;
}

/** Reports at once and then every minute. */
export function startGrowthReport(options: GrowthOptions): Loop {
  const { log, telemetry, clock } = options.ports;
  let lastBytes: number | undefined;
  const report = async (): Promise<void> => {
    const [sizeBytes, bounds] = await Promise.all([log.sizeBytes(), log.bounds()]);
    let eventCount = 0;
    for (const { start, end } of bounds.values()) eventCount += end - start;
    telemetry.gauge('log_size_bytes', sizeBytes);
    options.onReport({
      sizeBytes,
      grownBytes: sizeBytes - (lastBytes ?? sizeBytes),
      eventCount,
      partitionCount: bounds.size,
    });
    lastBytes = sizeBytes;
  };
  return startLoop(report, { clock, periodMs: GROWTH_PERIOD_MS, onError: (error) => options.onError('growth', error) });
}
