/** Owns the dashboard of the fleet: is all of it there, does it keep up, and what goes wrong. */

import type { Dashboard } from './panel.ts';

const UP = 'up{job="tidemark"}';

export const fleet: Dashboard = {
  uid: 'tidemark-fleet',
  title: 'Tidemark: fleet',
  says: 'Is all of it there, does it keep up, and what goes wrong.',
  variables: [{ name: 'step', label: 'Step', query: 'label_values(tidemark_steps_total, step)' }],
  rows: [
    {
      title: 'Now',
      panels: [
        {
          title: 'Services that answer',
          says: 'Processes that Prometheus reaches.',
          unit: 'short',
          kind: 'stat',
          queries: [{ expr: `sum by (service) (${UP})`, legend: '{{service}}' }],
        },
        {
          title: 'Steps a second',
          says: 'Committed steps of all workers.',
          unit: 'ops',
          kind: 'stat',
          queries: [{ expr: 'sum(rate(tidemark_steps_total[$__rate_interval]))' }],
        },
        {
          title: 'Rows behind the log',
          says: 'Events that the projections do not show yet.',
          unit: 'short',
          kind: 'stat',
          warn: [1_000, 10_000],
          queries: [{ expr: 'max(tidemark_projection_lag_events)' }],
        },
        {
          title: 'Waiting for a person',
          says: 'Parked workflows.',
          unit: 'short',
          kind: 'stat',
          warn: [1, 50],
          queries: [{ expr: 'sum(max by (reason) (tidemark_workflows_parked)) or vector(0)' }],
        },
        {
          title: 'Held queues',
          says: 'Queues of which nothing is claimed, by request of a person.',
          unit: 'short',
          kind: 'stat',
          warn: [1, 10],
          queries: [{ expr: 'sum(max by (definition, tenant) (tidemark_queue_held)) or vector(0)' }],
        },
      ],
    },
    {
      title: 'Work',
      panels: [
        {
          title: 'Steps',
          says: 'Committed steps, by step.',
          unit: 'ops',
          stacked: true,
          queries: [
            { expr: 'sum by (step) (rate(tidemark_steps_total{step=~"$step"}[$__rate_interval]))', legend: '{{step}}' },
          ],
        },
        {
          title: 'Commit latency',
          says: 'From the end of a step to the acknowledged append of its checkpoint. A dot is an example, and leads to its trace.',
          unit: 's',
          exemplars: true,
          warn: [0.05, 0.25],
          queries: [0.5, 0.99, 0.999].map((share) => ({
            expr: `histogram_quantile(${share}, sum by (le) (rate(checkpoint_commit_latency_seconds_bucket[$__rate_interval])))`,
            legend: `p${share * 100}`,
          })),
        },
        {
          title: 'Step retries',
          says: 'Share of attempts that were made again.',
          unit: 'percentunit',
          queries: [
            {
              expr: '(sum(rate(tidemark_step_retries_total[$__rate_interval])) or vector(0)) / sum(rate(tidemark_steps_total[$__rate_interval]))',
              legend: 'retries',
            },
          ],
        },
      ],
    },
    {
      title: 'Projections',
      panels: [
        {
          title: 'Lag',
          says: 'Events in the log that rows do not show yet. Claims and starts wait for them.',
          unit: 'short',
          warn: [1_000, 10_000],
          queries: [{ expr: 'max(tidemark_projection_lag_events)', legend: 'events' }],
        },
        {
          title: 'Time of a batch',
          says: 'To fold and write one batch of events.',
          unit: 's',
          queries: [
            {
              expr: 'histogram_quantile(0.99, sum by (le) (rate(tidemark_projection_batch_seconds_bucket[$__rate_interval])))',
              legend: 'p99',
            },
            {
              expr: 'sum(rate(tidemark_projection_batch_seconds_sum[$__rate_interval])) / sum(rate(tidemark_projection_batch_seconds_count[$__rate_interval]))',
              legend: 'mean',
            },
          ],
        },
      ],
    },
    {
      title: 'What goes wrong',
      panels: [
        {
          title: 'Rejected events',
          says: 'By reason. stale-epoch, wrong-holder and duplicate are zombies and repetitions that were kept out.',
          unit: 'ops',
          queries: [
            { expr: 'sum by (reason) (rate(tidemark_events_rejected_total[$__rate_interval]))', legend: '{{reason}}' },
            {
              expr: 'sum by (form) (increase(tidemark_workflow_ids_taken_total[$__rate_interval]))',
              legend: 'taken id: {{form}}',
            },
            { expr: 'sum(rate(tidemark_records_malformed_total[$__rate_interval]))', legend: 'no event at all' },
          ],
        },
        {
          title: 'Recoveries',
          says: 'By what was decided: replay, compensate, fail.',
          unit: 'ops',
          queries: [
            { expr: 'sum by (action) (rate(recovery_attempts_total[$__rate_interval]))', legend: '{{action}}' },
          ],
        },
        {
          title: 'Waiting for a person',
          says: 'Parked workflows, by reason.',
          unit: 'short',
          stacked: true,
          queries: [{ expr: 'max by (reason) (tidemark_workflows_parked)', legend: '{{reason}}' }],
        },
        {
          title: 'Without a worker',
          says: 'Workflows that could run and that no living worker takes, by reason.',
          unit: 'short',
          stacked: true,
          queries: [{ expr: 'max by (reason) (tidemark_workflows_stuck)', legend: '{{reason}}' }],
        },
      ],
    },
    {
      title: 'Callers',
      panels: [
        {
          title: 'Bodies in progress',
          says: 'What bodies of requests take of a coordinator: their bytes, and their values once parsed. At 64 MiB further ones are refused and may be sent again later.',
          unit: 'bytes',
          queries: [{ expr: 'max by (instance) (tidemark_request_body_bytes)', legend: '{{instance}}' }],
        },
        {
          title: 'Refused bodies',
          says: 'For what they would take, by code. bodies-too-many: there was no room; all others were too large, too deep or in too many pieces.',
          unit: 'ops',
          queries: [
            {
              expr: 'sum by (reason) (rate(tidemark_request_bodies_refused_total[$__rate_interval]))',
              legend: '{{reason}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Telling',
      panels: [
        {
          title: 'Spans',
          says: 'That the collector took, and that were given up.',
          unit: 'ops',
          queries: [
            { expr: 'sum(rate(tidemark_trace_spans_exported_total[$__rate_interval]))', legend: 'taken' },
            {
              expr: 'sum by (reason) (rate(tidemark_trace_spans_dropped_total[$__rate_interval]))',
              legend: 'dropped: {{reason}}',
            },
          ],
        },
        {
          title: 'Wrong clocks',
          says: 'Checkpoints whose holder had a clock behind that of the one before. Nothing depends on it.',
          unit: 'ops',
          queries: [{ expr: 'sum(rate(tidemark_clock_skew_warnings_total[$__rate_interval]))', legend: 'warnings' }],
        },
      ],
    },
  ],
};
