/** Owns the dashboard of scaling: the demand for each pool of workers, and whether workers meet it. */

import type { Dashboard } from './panel.ts';

const of = (metric: string): string => `max by (pool) (${metric}{pool=~"$pool"})`;

export const scaling: Dashboard = {
  uid: 'tidemark-scaling',
  title: 'Tidemark: scaling',
  says: 'How much work each pool of workers has, and whether anybody does it. Every coordinator reports the whole, so panels show the maximum.',
  variables: [{ name: 'pool', label: 'Pool', query: 'label_values(tidemark_pool_demand, pool)' }],
  rows: [
    {
      title: 'Now',
      panels: [
        {
          title: 'Demand',
          says: 'In flight, waiting, and left by the dead.',
          unit: 'short',
          kind: 'stat',
          queries: [{ expr: of('tidemark_pool_demand'), legend: '{{pool}}' }],
        },
        {
          title: 'Debt',
          says: 'Workflows that could run, and that no worker holds.',
          unit: 'short',
          kind: 'stat',
          warn: [100, 1_000],
          queries: [
            {
              expr: 'max by (pool) (tidemark_pool_backlog{pool=~"$pool"} + tidemark_pool_recovery_debt{pool=~"$pool"})',
              legend: '{{pool}}',
            },
          ],
        },
        {
          title: 'Busy workers',
          says: 'Workers with something in flight.',
          unit: 'short',
          kind: 'stat',
          queries: [{ expr: of('tidemark_pool_busy_workers'), legend: '{{pool}}' }],
        },
        {
          title: 'Of no pool',
          says: 'Demand for which no pool is named: nothing is scaled for it.',
          unit: 'short',
          kind: 'stat',
          warn: [1, 10],
          queries: [{ expr: 'max(tidemark_pool_unassigned)' }],
        },
        {
          title: 'Age of these numbers',
          says: 'Of the oldest poll that they are based on.',
          unit: 'ms',
          kind: 'stat',
          warn: [10_000, 60_000],
          queries: [{ expr: 'max(tidemark_pool_demand_age_ms)' }],
        },
      ],
    },
    {
      title: 'Demand',
      panels: [
        {
          title: 'What it is made of',
          says: 'What the autoscaler reads, in its three parts.',
          unit: 'short',
          stacked: true,
          queries: [
            { expr: of('tidemark_pool_in_flight'), legend: '{{pool}} in flight' },
            { expr: of('tidemark_pool_backlog'), legend: '{{pool}} waiting' },
            { expr: of('tidemark_pool_recovery_debt'), legend: '{{pool}} left by the dead' },
          ],
        },
        {
          title: 'The oldest work',
          says: 'How long the oldest workflow has waited for a worker; what a paused queue keeps does not count.',
          unit: 'ms',
          warn: [600_000, 1_800_000],
          queries: [{ expr: of('tidemark_pool_oldest_age_ms'), legend: '{{pool}}' }],
        },
        {
          title: 'Held, and limited',
          says: 'Could run if their queue were not paused, or their limits not reached; not a part of the demand.',
          unit: 'short',
          queries: [
            { expr: of('tidemark_pool_held'), legend: '{{pool}} held' },
            { expr: of('tidemark_pool_limited'), legend: '{{pool}} limited' },
          ],
        },
      ],
    },
    {
      title: 'Who does it',
      panels: [
        {
          title: 'Workers',
          says: 'Those that answer, and those with something in flight.',
          unit: 'short',
          queries: [
            { expr: 'sum(up{job="tidemark",service="worker"})', legend: 'answer' },
            { expr: 'sum(max by (pool) (tidemark_pool_busy_workers))', legend: 'busy' },
          ],
        },
        {
          title: 'In flight for each worker',
          says: 'Of those that are busy.',
          unit: 'short',
          queries: [
            {
              expr: 'max by (pool) (tidemark_pool_in_flight{pool=~"$pool"}) / (max by (pool) (tidemark_pool_busy_workers{pool=~"$pool"}) > 0)',
              legend: '{{pool}}',
            },
          ],
        },
        {
          title: 'Steps of each worker',
          says: 'Whether all of them work.',
          unit: 'ops',
          queries: [
            { expr: 'sum by (instance) (rate(tidemark_steps_total[$__rate_interval]))', legend: '{{instance}}' },
          ],
        },
      ],
    },
    {
      title: 'Workers that go',
      panels: [
        {
          title: 'Recoveries',
          says: 'Work that dead workers left, by what became of it.',
          unit: 'ops',
          queries: [
            { expr: 'sum by (action) (rate(recovery_attempts_total[$__rate_interval]))', legend: '{{action}}' },
          ],
        },
        {
          title: 'Take-overs',
          says: 'From lost holders.',
          unit: 'ops',
          queries: [
            {
              expr: 'sum by (outcome) (rate(tidemark_checkpoint_resumes_total[$__rate_interval]))',
              legend: '{{outcome}}',
            },
          ],
        },
      ],
    },
  ],
};
