/**
 * Owns sending a process's metrics to a collector, periodically and once at the end, and the settings of that in the environment. Values
 * are cumulative, so the next request makes up for a lost one, and nothing waits or is kept. Must make nobody wait, except at the end.
 */

import { randomUUID } from 'node:crypto';
import type { Resource } from '@opentelemetry/resources';
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics';
import { ConfigError } from '@tidemark/core';
import type { Clock } from '@tidemark/ports';
import type { MetricSnapshot } from '@tidemark/telemetry';
import { type Collector, CollectorClient, collectorOf, resourceOf, type SendOptions } from './collector.ts';
import { resourceMetrics } from './readable-span.ts';

/** Time between two sendings of metrics, in milliseconds (the default of OTEL_METRIC_EXPORT_INTERVAL). */
const METRICS_PERIOD_MS = 60_000;

export interface MetricsSettings {
  readonly collector: Collector;
  readonly periodMs: number;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Undefined: no metrics are sent. Throws `ConfigError` (`setting-invalid`) that names the setting. */
export function metricsSettings(env: Env): MetricsSettings | undefined {
  if (!sendsOtlp(env.OTEL_METRICS_EXPORTER)) return undefined;
  const collector = collectorOf(env, undefined, 'metrics');
  if (collector === undefined) return undefined;
  const preference = env.OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE?.toLowerCase() ?? '';
  if (preference !== '' && preference !== 'cumulative') {
    throw new ConfigError(
      'setting-invalid',
      `OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: ${preference} is not spoken here; expected cumulative (a collector's processor cumulativetodelta makes deltas of it).`,
    );
  }
  return { collector, periodMs: periodOf(env.OTEL_METRIC_EXPORT_INTERVAL) };
}

/** A list of exporters; Prometheus scrapes by itself (TIDEMARK_METRICS_LISTEN). */
function sendsOtlp(exporters = ''): boolean {
  const names = exporters.split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()]));
  const unknown = names.find((name) => !['otlp', 'prometheus', 'none'].includes(name));
  if (unknown === undefined) return names.length === 0 || names.includes('otlp');
  throw new ConfigError(
    'setting-invalid',
    `OTEL_METRICS_EXPORTER: ${unknown} is not known; expected otlp, prometheus or none.`,
  );
}

function periodOf(text: string | undefined): number {
  if (text === undefined || text === '') return METRICS_PERIOD_MS;
  const ms = Number(text);
  if (Number.isFinite(ms) && ms > 0) return ms;
  throw new ConfigError('setting-invalid', 'OTEL_METRIC_EXPORT_INTERVAL: expected milliseconds, such as 60000.');
}

/** A command that only reads measures nothing, and need not wait for a collector. */
const isMeasured = ({ points }: MetricSnapshot): boolean =>
  points.some(({ value, counts = [] }) => value !== 0 || counts.some((count) => count > 0));

export interface MetricsExportOptions {
  readonly settings: MetricsSettings;
  readonly source: { snapshot(): Promise<readonly MetricSnapshot[]> };
  readonly clock: Pick<Clock, 'nowMs' | 'sleep'>;
  readonly onError: (error: unknown) => void;
}

export class MetricsExport {
  readonly #options: MetricsExportOptions;
  readonly #startMs: number;
  readonly #client: CollectorClient<ResourceMetrics>;
  /** Distinguishes this process from others of the service: a counter shared by two would jump. */
  readonly #resource: Promise<Resource>;
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: MetricsExportOptions) {
    this.#options = options;
    this.#startMs = options.clock.nowMs();
    const { collector } = options.settings;
    this.#client = new CollectorClient(collector);
    this.#resource = resourceOf(collector, { 'service.instance.id': randomUUID() });
    this.#running = this.#run();
  }

  /** Sends the values once more, within a bounded time. */
  async close(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
    await this.#send({ ending: this.#stopped.signal });
  }

  async #run(): Promise<void> {
    const { clock, settings } = this.#options;
    const { signal } = this.#stopped;
    for (;;) {
      await clock.sleep(settings.periodMs, signal);
      if (signal.aborted) return;
      await this.#send({ signal });
    }
  }

  async #send(options: SendOptions): Promise<void> {
    const { source, clock, onError } = this.#options;
    try {
      const times = { startMs: this.#startMs, nowMs: clock.nowMs() };
      const metrics = await source.snapshot();
      if (metrics.some(isMeasured)) {
        await this.#client.send(resourceMetrics(metrics, await this.#resource, times), options);
      }
    } catch (error) {
      // This request covers one that was under way when the end came.
      if (options.signal?.aborted !== true) onError(error);
    }
  }
}
