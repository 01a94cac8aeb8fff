/** Owns the wiring of metrics that are sent to a collector: failures are reported, and stop no work. */

import { messageOf } from '@tidemark/core';
import { systemClock } from '@tidemark/runtime';
import type { PrometheusRegistry } from '@tidemark/telemetry';
import { MetricsExport, type MetricsSettings } from '@tidemark/traces';

export const sentMetrics = (
  settings: MetricsSettings,
  source: Pick<PrometheusRegistry, 'snapshot'>,
  onWarning?: (code: string, message: string) => void,
): MetricsExport =>
  new MetricsExport({
    settings,
    source,
    clock: systemClock,
    onError: (error) => onWarning?.('metrics-unsent', messageOf(error)),
  });
