/**
 * Owns the environment's settings of traces, by OpenTelemetry's own names: their collector, the share that is always kept, and whether
 * attributes may hold content. Nothing is exported unless a collector is named.
 */

import { ConfigError } from '@tidemark/core';
import { type Collector, collectorOf } from './collector.ts';

export interface TraceSettings {
  readonly collector: Collector;
  /** 0..1. Failed and recovered runs are kept in any case. */
  readonly ratio: number;
  readonly content: boolean;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Undefined: no traces are exported. Throws `ConfigError` (`setting-invalid`) that names the setting. */
export function traceSettings(env: Env, endpoint?: string): TraceSettings | undefined {
  const isOff = env.OTEL_TRACES_EXPORTER === 'none' && endpoint === undefined;
  const collector = isOff ? undefined : collectorOf(env, endpoint);
  if (collector === undefined) return undefined;
  const content = env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT?.toLowerCase() === 'true';
  return { collector, ratio: ratioOf(env), content };
}

/** A parent-based sampler counts as the sampler that it wraps: a workflow's trace has no parent. */
function ratioOf({ OTEL_TRACES_SAMPLER: sampler = '', OTEL_TRACES_SAMPLER_ARG: argument }: Env): number {
  switch (sampler.replace(/^parentbased_/, '')) {
    case '':
    case 'always_on':
      return 1;
    case 'always_off':
      return 0;
    case 'traceidratio':
      return checkedRatio(argument);
    default:
      throw new ConfigError(
        'setting-invalid',
        `OTEL_TRACES_SAMPLER: ${sampler} is not known; expected always_on, always_off or traceidratio.`,
      );
  }
}

function checkedRatio(argument: string | undefined): number {
  const ratio = argument === undefined || argument === '' ? 1 : Number(argument);
  if (ratio >= 0 && ratio <= 1) return ratio;
  throw new ConfigError('setting-invalid', 'OTEL_TRACES_SAMPLER_ARG: expected a share from 0 to 1, such as 0.1.');
}
