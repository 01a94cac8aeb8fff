/** Owns what every place does alike: how its process is measured, and the host over its ports. */

import { messageOf, type RecoveryPolicy } from '@tidemark/core';
import type { Embedder } from '@tidemark/memory';
import { noTelemetry, type Telemetry } from '@tidemark/ports';
import { type OnSecret, type Ports, sessionMemory, sha256Digest, systemClock, systemPrng } from '@tidemark/runtime';
import { MetricsExport, type MetricsSettings, type TraceSettings } from '@tidemark/traces';
import { Host, type HostOptions } from './host.ts';
import { openMetricsEndpoint } from './metrics-endpoint.ts';
import type { Opened } from './opened.ts';
import { secretPolicy } from './secret-policy.ts';
import { type Below, viewsOver } from './tiers.ts';

export interface Measuring {
  /** Where a collector is; absent: nowhere. */
  readonly metrics?: MetricsSettings | undefined;
  readonly traces?: TraceSettings | undefined;
  /** Where scrapers ask; absent or empty: nowhere. */
  readonly listen?: string | undefined;
  /** Called when the collector doesn't take them, which stops no work. */
  readonly onWarning?: ((code: string, message: string) => void) | undefined;
}

/** Measurements go to the endpoint for scrapers and to a collector; to each that is set. */
export async function openMeasuring(
  { metrics, traces, listen = '', onWarning }: Measuring,
  opened: Opened,
): Promise<Telemetry> {
  const isMeasured = listen !== '' || metrics !== undefined;
  if (!isMeasured && traces === undefined) return noTelemetry;
  const { openPrometheus, tracing } = await import('@tidemark/telemetry');
  const own = (telemetry: Telemetry) => (traces === undefined ? telemetry : tracing(telemetry, traces.ratio));
  if (!isMeasured) return own(noTelemetry);
  const source = openPrometheus();
  if (listen !== '') await opened.add(openMetricsEndpoint(listen, source));
  const onError = (error: unknown): void => onWarning?.('metrics-unsent', messageOf(error));
  if (metrics !== undefined)
    await opened.add(new MetricsExport({ settings: metrics, source, clock: systemClock, onError }));
  return own(source.telemetry);
}

interface Over extends Omit<HostOptions, 'tiers' | 'keys' | 'secrets'> {
  readonly below: Below;
  readonly ports: Pick<Ports, 'queue' | 'hints' | 'liveness' | 'watch' | 'calls'>;
  readonly telemetry: Telemetry;
  readonly embedder: Embedder | null;
  readonly onSecret: OnSecret;
  readonly recovery?: RecoveryPolicy | undefined;
  readonly onWarning: ((code: string, message: string) => void) | undefined;
}

/** The host closes what is opened. */
export function hostOver(
  { below, ports: own, telemetry, onSecret, recovery, onWarning, ...rest }: Over,
  opened: Opened,
): Host {
  const { log, store, tiers } = viewsOver(below);
  const { keys, secrets } = below;
  const ports = {
    ...own,
    log,
    cold: tiers?.cold,
    store,
    telemetry,
    clock: systemClock,
    prng: systemPrng,
    digest: sha256Digest,
    memory: sessionMemory({ store, embedder: rest.embedder, telemetry }),
    secrets: secrets?.workflows,
    secretPolicy: secretPolicy(onSecret, onWarning),
    recovery,
  };
  return new Host(ports, () => opened.close(), { ...rest, tiers, keys, secrets });
}
