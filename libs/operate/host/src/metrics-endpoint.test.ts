/** The metrics endpoint over HTTP: one path, one method, and a start that says what is wrong. */

import { once } from 'node:events';
import { connect } from 'node:net';
import { openPrometheus } from '@tidemark/telemetry';
import { expect, test } from 'vitest';
import { openMetricsEndpoint } from './metrics-endpoint.ts';

test('answers /metrics alone, and tells where it could not listen', async () => {
  const registry = openPrometheus();
  registry.telemetry.gauge('log_size_bytes', 42);
  const endpoint = await openMetricsEndpoint('127.0.0.1:0', registry);
  try {
    const base = `http://127.0.0.1:${endpoint.port}`;
    const response = await fetch(`${base}/metrics?x=1`);
    expect(response.headers.get('content-type')).toMatch(/openmetrics/);
    expect(await response.text()).toContain('tidemark_log_size_bytes 42\n');
    expect((await fetch(`${base}/`)).status).toBe(404);
    expect((await fetch(`${base}/metrics`, { method: 'POST', body: 'x' })).status).toBe(404);
    // A body is not waited for, however long it were.
    const socket = connect(endpoint.port, '127.0.0.1').on('error', () => {});
    socket.write('GET /metrics HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n ');
    socket.resume();
    await once(socket, 'close');
    await expect(openMetricsEndpoint(`127.0.0.1:${endpoint.port}`, registry)).rejects.toMatchObject({
      code: 'metrics-listen',
      message: expect.stringContaining('TIDEMARK_METRICS_LISTEN'),
    });
  } finally {
    await endpoint.close();
  }
});
