/** Owns the wiring of the live export of traces: a coordinator's events go to a collector, and drops are counted in metrics. */

import type { Ports } from '@tidemark/runtime';
import { LiveTraces, SpanClient, type TraceSettings } from '@tidemark/traces';

export interface HostRole {
  /** Called for every failure that was survived; for logs. */
  readonly onError?: ((where: string, error: unknown) => void) | undefined;
}

export function liveTraces(ports: Ports, settings: TraceSettings, onError: HostRole['onError']): LiveTraces {
  const { collector, ratio, content } = settings;
  const client = new SpanClient(collector);
  return new LiveTraces({
    ports,
    ratio,
    content,
    async send(spans, ending) {
      await client.send(spans, { ending });
      ports.telemetry.count('trace_spans_exported_total', spans.length);
    },
    onDropped: (count, reason) => ports.telemetry.count('trace_spans_dropped_total', count, { reason }),
    onError: (error) => onError?.('traces', error),
  });
}
