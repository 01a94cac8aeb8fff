/** Whoever stops a process waits longer than the process drains; otherwise it is killed in the middle of its hand-over. */

import { describe, expect, test } from 'vitest';
import { blockOf, readProjectFile, readSettings } from './deployment.ts';

const drainMs = Number(readSettings().get('TIDEMARK_DRAIN_MS'));
/** What letting leases go and closing connections may take behind the drain (`closeTimeoutMs` of log-kafka, twice). */
const marginMs = 10_000;

test('the drain has a default', () => expect(drainMs).toBeGreaterThan(0));

describe('docker-compose.yml', () => {
  const text = readProjectFile('docker-compose.yml');

  test('waits longer than the drain', () => {
    const seconds = /stop_grace_period: \$\{STOP_GRACE_PERIOD:-(\d+)s\}/.exec(blockOf(text, 'x-service'))?.[1];
    expect(Number(seconds) * 1_000).toBeGreaterThanOrEqual(drainMs + marginMs);
  });

  test.each(['coordinator', 'worker', 'compactor'])('%s: so it does, and is not PID 1', (service) => {
    const block = blockOf(blockOf(text, 'services'), service);
    expect(block).toContain('<<: *service');
    expect(block).not.toContain('stop_grace_period');
    expect(blockOf(text, 'x-process')).toContain('init: true');
  });
});

describe('helm/tidemark', () => {
  test('derives the time from the drain, whatever it is set to', () => {
    const names = readProjectFile('helm/tidemark/templates/_names.tpl');
    const formula = names.slice(names.indexOf('define "tidemark.stopSeconds"'));
    expect(formula).toContain('{{- $drainMs := int64 .root.Values.settings.TIDEMARK_DRAIN_MS -}}');
    expect(formula).toContain('{{- add (div (add $drainMs 999) 1000) (int64 .root.Values.stopMarginSeconds) -}}');
    const pod = readProjectFile('helm/tidemark/templates/_pod.tpl');
    expect(pod).toContain('terminationGracePeriodSeconds: {{ include "tidemark.stopSeconds" . }}');
    expect(pod).toContain('shareProcessNamespace: true');
  });

  test('the margin is enough, and can not be set to less', () => {
    const values = /^stopMarginSeconds: (\d+)$/m.exec(readProjectFile('helm/tidemark/values.yaml'))?.[1];
    expect(Number(values) * 1_000).toBeGreaterThanOrEqual(marginMs);
    const schema = JSON.parse(readProjectFile('helm/tidemark/values.schema.json'));
    expect(schema.properties.stopMarginSeconds.minimum * 1_000).toBeGreaterThanOrEqual(marginMs);
  });
});
