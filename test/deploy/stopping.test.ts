/** Whoever stops a process waits longer than the process drains; otherwise it is killed in the middle of its hand-over. */

import { STOP_MARGIN_MS } from '@tidemark/host';
import { beforeAll, describe, expect, test } from 'vitest';
import { blockOf, readProjectFile, readSettings } from './deployment.ts';
import { helm, named, notes, podOf, rendered } from './helm.ts';

const drainMs = Number(readSettings().get('TIDEMARK_DRAIN_MS'));

test('the drain has a default', () => expect(drainMs).toBeGreaterThan(0));

describe('docker-compose.yml', () => {
  const text = readProjectFile('docker-compose.yml');

  test('waits longer than the drain', () => {
    const seconds = /stop_grace_period: \$\{STOP_GRACE_PERIOD:-(\d+)s\}/.exec(blockOf(text, 'x-service'))?.[1];
    expect(Number(seconds) * 1_000).toBeGreaterThanOrEqual(drainMs + STOP_MARGIN_MS);
  });

  test.each(['coordinator', 'worker', 'compactor'])('%s: so it does, and is not PID 1', (service) => {
    const block = blockOf(blockOf(text, 'services'), service);
    expect(block).toContain('<<: *service');
    expect(block).not.toContain('stop_grace_period');
    expect(blockOf(text, 'x-process')).toContain('init: true');
  });
});

describe('helm/tidemark', () => {
  beforeAll(() => helm(), 180_000);
  /** In seconds. */
  const waits = async (values: string, over: object, name: string): Promise<number> =>
    podOf(named(await rendered(values, over), 'Deployment', name)).spec.terminationGracePeriodSeconds;

  const marginS = 20;

  test('waits for each longer than it takes to end, and for a worker as long as its drain beyond that', async () => {
    expect(marginS).toBeGreaterThanOrEqual(STOP_MARGIN_MS / 1_000);
    for (const name of ['-coordinator', '-compactor']) expect(await waits('own-servers', {}, name)).toBe(marginS);
    expect(await waits('own-servers', {}, '-worker')).toBe(drainMs / 1_000 + marginS);
    expect(await waits('own-servers', { worker: { drainMs: 60_001 } }, '-worker')).toBe(61 + marginS);
  });

  test("a pool's own drain counts for its pods", async () => {
    const over = { pools: { crawl: { drainMs: 7_000 } } };
    expect(await waits('pools', over, '-worker-crawl')).toBe(7 + marginS);
    expect(await waits('pools', over, '-worker-billing')).toBe(drainMs / 1_000 + marginS);
  });

  test('the notes tell the time of each pool', async () => {
    const shown = await notes('pools', { pools: { crawl: { drainMs: 7_000 } } });
    expect(shown).toContain(
      'trial-tidemark-worker-crawl that is asked to end has 27 s, of which steps under way have 7 s',
    );
    expect(shown).toContain('-worker-fixed that is asked to end has 40 s, of which steps under way have 20 s');
    expect(await notes('own-servers')).toContain('trial-tidemark-worker that is asked to end has 40 s');
  });

  test('a process is not the first of its container, which would be deaf to an early signal', async () => {
    const pod = podOf(named(await rendered('own-servers'), 'Deployment', '-worker'));
    expect(pod.spec.shareProcessNamespace).toBe(true);
  });
});
