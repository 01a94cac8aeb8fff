/** Owns the count of rules of providers that generated conversations break, as their own packages send them. */

import { judged } from '../providers/judged.ts';
import type { Report } from './report.ts';

const CONVERSATIONS_COUNT = 10_000;

export async function measureProviders(report: Report): Promise<void> {
  report.note('providers: conversations, each sent by the packages of all families to judges of their rules');
  const startMs = performance.now();
  const { conversations, requests, families, broken, unread } = await judged(CONVERSATIONS_COUNT);
  for (const [rule, { count, seed, at }] of broken)
    report.note(`${rule} was broken ${count} times, first in conversation ${seed} at ${at}`);
  for (const [why, count] of unread) report.note(`not sent or not read, ${count} times: ${why}`);
  report.add('providers.conversations', conversations, 'conversations');
  report.add('providers.families', families.length, 'families');
  report.add('providers.requests', requests, 'requests');
  report.add('providers.broken_rules', broken.size + unread.size, 'rules');
  report.add('providers.seconds', (performance.now() - startMs) / 1_000, 's');
}
