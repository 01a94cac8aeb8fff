/**
 * Owns the adapter that a HorizontalPodAutoscaler needs: external.metrics.k8s.io for the coordinators' gauges, as docs/deploy.md asks for it (the maximum
 * over coordinators, by pool). A cluster of one's own has prometheus-adapter there.
 */

import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';

const GROUP = 'external.metrics.k8s.io/v1beta1';
const ANSWER_MAX_MS = 2_000;

/** The greatest value of the gauge for the pool in these texts of Prometheus' format; undefined: none has it. */
export function gaugeOf(texts: readonly string[], name: string, pool: string): number | undefined {
  const values = texts.flatMap((text) =>
    text.split('\n').flatMap((line) => {
      const [, is, labels = '', value] = /^(\w+)\{([^}]*)\} (\S+)/.exec(line) ?? [];
      return is?.endsWith(name) && labels.includes(`pool="${pool}"`) ? [Number(value)] : [];
    }),
  );
  return values.length === 0 ? undefined : Math.max(...values);
}

/** `addresses`: where coordinators answer GET /metrics. */
export async function serveExternalMetrics(
  at: { readonly host: string; readonly port: number; readonly pki: string },
  addresses: () => Promise<readonly string[]>,
): Promise<Server> {
  const answer = async (url: URL): Promise<object | undefined> => {
    const name = /\/namespaces\/[^/]+\/(\w+)$/.exec(url.pathname)?.[1];
    if (name === undefined) return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: GROUP, resources: [] };
    const pool = /pool=([\w-]+)/.exec(url.searchParams.get('labelSelector') ?? '')?.[1] ?? '';
    const texts = await Promise.all((await addresses()).map((address) => scrape(address)));
    const value = gaugeOf(texts, name, pool);
    if (value === undefined) return undefined;
    const item = {
      metricName: name,
      metricLabels: { pool },
      timestamp: new Date().toISOString(),
      value: String(value),
    };
    return { kind: 'ExternalMetricValueList', apiVersion: GROUP, metadata: {}, items: [item] };
  };
  const file = (name: string): Buffer => readFileSync(`${at.pki}/${name}`);
  const server = createServer({ cert: file('metrics.crt'), key: file('metrics.key') }, (request, response) => {
    void answer(new URL(request.url ?? '/', 'https://here')).then((body) => {
      response
        .writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' })
        .end(JSON.stringify(body ?? {}));
    });
  });
  return new Promise((resolve) => server.listen(at.port, at.host, () => resolve(server)));
}

const scrape = (address: string): Promise<string> =>
  fetch(`http://${address}/metrics`, { signal: AbortSignal.timeout(ANSWER_MAX_MS) }).then(
    (response) => response.text(),
    () => '',
  );

/** What makes the API server ask this adapter; it replaces KEDA's own. */
export const externalMetricsManifest = (host: string, port: number): string =>
  [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'external-metrics', namespace: 'agents' },
      spec: { ports: [{ port: 443, targetPort: port }] },
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name: 'external-metrics',
        namespace: 'agents',
        labels: { 'kubernetes.io/service-name': 'external-metrics' },
      },
      addressType: 'IPv4',
      ports: [{ port }],
      endpoints: [{ addresses: [host] }],
    },
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: 'v1beta1.external.metrics.k8s.io' },
      spec: {
        group: 'external.metrics.k8s.io',
        version: 'v1beta1',
        groupPriorityMinimum: 100,
        versionPriority: 100,
        // KEDA would put the authority of its own adapter here, and can not beside this.
        insecureSkipTLSVerify: true,
        service: { name: 'external-metrics', namespace: 'agents' },
      },
    },
  ]
    .map((each) => JSON.stringify(each))
    .join('\n---\n');
