/** Owns what docs/dispatch.md shows: workflows of different priority, and limits by key. */

import { defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';

export const report = defineWorkflow({
  name: 'report',
  version: 1,
  input: z.object({ urgent: z.boolean() }),
  priority: ({ urgent }) => (urgent ? 1 : 4),
  belief: z.object({}),
  output: z.object({ pages: z.number() }),
  tasks: { write: z.object({}) },
  flow: { write: [] },
  begin: () => ({ belief: {}, next: [task('write', {})] }),
  steps: { write: { plans: true, run: () => ({ done: { pages: 1 } }) } },
});

export const crawl = defineWorkflow({
  name: 'crawl',
  version: 1,
  input: z.object({ site: z.string(), customer: z.string() }),
  limits: ({ site, customer }) => [
    { key: `site:${site}`, concurrency: 2 },
    { key: `customer:${customer}`, rate: { count: 100, per: '1m' } },
    { key: 'search-api', scope: 'fleet', concurrency: 20 },
  ],
  belief: z.object({}),
  output: z.object({ pages: z.number() }),
  tasks: { fetch: z.object({}) },
  flow: { fetch: [] },
  begin: () => ({ belief: {}, next: [task('fetch', {})] }),
  steps: { fetch: () => ({ done: { pages: 1 } }) },
});
