/**
 * `npm run bench -- control --only followers`: 1,000 followers, each of a workflow of its own, while signals come and workers answer them.
 * From an event's own time (when it was written) until its follower has read it, on the clock of one machine.
 */

import { setTimeout as wait } from 'node:timers/promises';
import { median, type Report } from '../report.ts';
import { onCluster } from './cluster.ts';

const FOLLOWER_COUNT = 1_000;
const SIGNALS_PER_SECOND = 100;
const DURATION_MS = 30_000;
const STARTS_AT_ONCE = 20;

export function measureFollowers(report: Report): Promise<void> {
  return onCluster({ worker: true }, async ({ client, memoryPeakMb }) => {
    report.note(
      `control: ${FOLLOWER_COUNT} followers, ${SIGNALS_PER_SECOND} signals a second for ${DURATION_MS / 1_000} s`,
    );
    const ids = Array.from({ length: FOLLOWER_COUNT }, (_, at) => `followed-${at}`);
    for (let at = 0; at < ids.length; at += STARTS_AT_ONCE) {
      const some = ids.slice(at, at + STARTS_AT_ONCE);
      await Promise.all(some.map((id) => client.start('bench-listener', { times: 1_000 }, { id })));
    }
    const over = new AbortController();
    const latencies: number[] = [];
    let [isMeasured, lostCount, wrongCount, refusedCount] = [false, 0, 0, 0];
    const seen = new Set<string>();
    const following = ids.map(async (id) => {
      let last = 0;
      const events = client.run(id).events({ signal: over.signal, onLost: () => lostCount++ });
      for await (const { name, data } of events) {
        if (name !== 'event') continue;
        seen.add(id);
        if (data.position !== last + 1) wrongCount++;
        last = data.position;
        if (isMeasured) latencies.push(Date.now() - Date.parse(data.at));
      }
    });
    while (seen.size < FOLLOWER_COUNT) await wait(50);
    await wait(1_000);
    isMeasured = true;
    const beganMs = performance.now();
    const sent: Promise<unknown>[] = [];
    for (let at = 0; performance.now() - beganMs < DURATION_MS; at++) {
      const signal = client.run(ids[(at * 7) % ids.length]!).signal('go', at);
      sent.push(signal.catch(() => void refusedCount++));
      const dueMs = ((at + 1) * 1_000) / SIGNALS_PER_SECOND;
      await wait(Math.max(dueMs - (performance.now() - beganMs), 0));
    }
    await Promise.all(sent);
    await wait(1_000);
    report.add('control.followers1000.events_per_second', (latencies.length / DURATION_MS) * 1_000, '1/s');
    report.add('control.followers1000.median_ms', median(latencies), 'ms');
    report.addTail('control.followers1000.p99_ms', latencies, 'ms');
    report.add('control.followers1000.lost_connections', lostCount, 'count');
    report.add('control.followers1000.out_of_order', wrongCount, 'count');
    report.add('control.followers1000.refused_signals', refusedCount, 'count');
    report.add('control.followers1000.coordinator_peak_mb', await memoryPeakMb(), 'MB');
    over.abort();
    await Promise.all(following);
  });
}
