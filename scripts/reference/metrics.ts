/** Owns docs/metrics.md: every metric by its name, as its instrument describes it. */

import { exposedName, INSTRUMENTS, SECONDS_BOUNDARIES } from '@tidemark/telemetry';

export function metricsPage(): string {
  const rows = Object.entries(INSTRUMENTS).map(([own, { kind, unit, description, labels }]) => {
    const name = exposedName(own as keyof typeof INSTRUMENTS);
    const of = labels.map((label) => `\`${label}\``).join(', ');
    return `| \`${name}\` | ${kind} | ${unit === '1' ? '' : unit} | ${of} | ${description} |`;
  });
  return `# Metrics

Every metric that processes have, made from their declarations by \`npm run docs\`. Each service answers \`GET /metrics\` at \`TIDEMARK_METRICS_LISTEN\`, or sends them over OTLP; which service has which, how
they are read together, and which queries give the rates are in [tracing](tracing.md#metrics), what to do when one looks wrong in the [runbook](runbook.md).

Without labels a counter begins at zero with its process, and with labels at its first event; a gauge has its last measurement, and zero before the first. Histograms have bounds from ${SECONDS_BOUNDARIES[0]} to ${SECONDS_BOUNDARIES.at(-1)} s. \`By\` is bytes, \`s\` seconds.

| metric | kind | unit | labels | says |
| --- | --- | --- | --- | --- |
${rows.join('\n')}
`;
}
