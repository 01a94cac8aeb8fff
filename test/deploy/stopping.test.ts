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

  test.each(['-coordinator', '-worker', '-compactor'])('waits for %s longer than the drain', async (name) => {
    expect(await waits('own-servers', {}, name)).toBeGreaterThanOrEqual((drainMs + STOP_MARGIN_MS) / 1_000);
    const longer = { settings: { TIDEMARK_DRAIN_MS: 60_001 }, stopMarginSeconds: 12 };
    expect(await waits('own-servers', longer, name)).toBe(61 + 12);
  });

  test("a pool's own drain counts for its pods", async () => {
    const over = { pools: { crawl: { drainMs: 7_000 }, billing: { drainMs: null } }, stopMarginSeconds: 30 };
    expect(await waits('pools', over, '-worker-crawl')).toBe(7 + 30);
    expect(await waits('pools', over, '-worker-billing')).toBe(drainMs / 1_000 + 30);
  });

  test('the notes tell the time of each pool', async () => {
    const shown = await notes('pools', { pools: { crawl: { drainMs: 7_000 } }, stopMarginSeconds: 30 });
    expect(shown).toContain(
      'trial-tidemark-worker-crawl that is asked to end has 37 s, of which steps under way have 7 s',
    );
    expect(shown).toContain('-worker-fixed that is asked to end has 50 s, of which steps under way have 20 s');
    expect(await notes('own-servers')).toContain('trial-tidemark-worker that is asked to end has 40 s');
  });

  test('the margin can not be set to less than a process may take', async () => {
    const stopMarginSeconds = Math.ceil(STOP_MARGIN_MS / 1_000);
    await expect(rendered('own-servers', { stopMarginSeconds })).resolves.toBeTruthy();
    await expect(rendered('own-servers', { stopMarginSeconds: stopMarginSeconds - 1 })).rejects.toThrow(
      /stopMarginSeconds/,
    );
  });

  test('a process is not the first of its container, which would be deaf to an early signal', async () => {
    const pod = podOf(named(await rendered('own-servers'), 'Deployment', '-worker'));
    expect(pod.spec.shareProcessNamespace).toBe(true);
  });
});
