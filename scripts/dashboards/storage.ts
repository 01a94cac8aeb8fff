/** Owns the dashboard of tiers and storage: the size of history, the archive's compression, and whether archiving works. */

import type { Dashboard } from './panel.ts';

export const storage: Dashboard = {
  uid: 'tidemark-storage',
  title: 'Tidemark: tiers and storage',
  says: 'What history takes, by tenant and tier; what was archived, and how small.',
  variables: [{ name: 'tenant', label: 'Tenant', query: 'label_values(tidemark_storage_bytes, tenant)' }],
  rows: [
    {
      title: 'Now',
      panels: [
        {
          title: 'Log',
          says: 'What Kafka holds of the checkpoint log.',
          unit: 'bytes',
          kind: 'stat',
          queries: [{ expr: 'max(tidemark_log_size_bytes)' }],
        },
        {
          title: 'Rows',
          says: 'What Postgres holds of history.',
          unit: 'bytes',
          kind: 'stat',
          queries: [{ expr: 'sum(max by (tenant) (tidemark_storage_bytes{form="rows",tenant=~"$tenant"}))' }],
        },
        {
          title: 'Archive',
          says: 'Segments in the object store.',
          unit: 'bytes',
          kind: 'stat',
          queries: [{ expr: 'sum(max by (tenant) (tidemark_storage_bytes{form="segments",tenant=~"$tenant"}))' }],
        },
        {
          title: 'Compression',
          says: 'How much smaller segments are than the log was: at least 60 % is meant.',
          unit: 'percentunit',
          kind: 'stat',
          queries: [
            {
              expr: '1 - sum(max by (tenant) (tidemark_storage_bytes{form="segments",tenant=~"$tenant"})) / (sum(max by (tenant) (tidemark_storage_bytes{form="segments-as-log",tenant=~"$tenant"})) > 0)',
            },
          ],
        },
      ],
    },
    {
      title: 'Growth',
      panels: [
        {
          title: 'Size of the log',
          says: 'With a compactor and an archive it levels off after the hot window.',
          unit: 'bytes',
          queries: [{ expr: 'max(tidemark_log_size_bytes)', legend: 'log' }],
        },
        {
          title: 'Growth of the log',
          says: 'Over the last six hours; below zero while it is trimmed.',
          unit: 'Bps',
          isSigned: true,
          queries: [{ expr: 'max(deriv(tidemark_log_size_bytes[6h]))', legend: 'growth' }],
        },
        {
          title: 'Rows, by tenant',
          says: 'Looked at once an hour.',
          unit: 'bytes',
          stacked: true,
          queries: [
            {
              expr: 'topk(10, max by (tenant) (tidemark_storage_bytes{form="rows",tenant=~"$tenant"}))',
              legend: '{{tenant}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Archiving',
      panels: [
        {
          title: 'Segments',
          says: 'Written by compactors, by tenant.',
          unit: 'ops',
          queries: [
            {
              expr: 'sum by (tenant) (rate(tidemark_segments_written_total{tenant=~"$tenant"}[$__rate_interval]))',
              legend: '{{tenant}}',
            },
          ],
        },
        {
          title: 'Archived',
          says: 'Bytes as the log held them, and as segments hold them.',
          unit: 'Bps',
          queries: [
            {
              expr: 'sum(rate(tidemark_archived_bytes_total{tenant=~"$tenant"}[$__rate_interval]))',
              legend: 'of the log',
            },
            {
              expr: 'sum(rate(tidemark_segment_bytes_total{tenant=~"$tenant"}[$__rate_interval]))',
              legend: 'in segments',
            },
          ],
        },
      ],
    },
    {
      title: 'The largest',
      panels: [
        {
          title: 'Tenants',
          says: 'Rows and segments together.',
          unit: 'bytes',
          kind: 'bargauge',
          queries: [
            {
              expr: 'topk(10, sum by (tenant) (max by (tenant, form) (tidemark_storage_bytes{form=~"rows|segments",tenant=~"$tenant"})))',
              legend: '{{tenant}}',
            },
          ],
        },
        {
          title: 'Workflows',
          says: 'Rows and segments together.',
          unit: 'bytes',
          kind: 'bargauge',
          queries: [
            {
              expr: 'topk(10, sum by (workflow) (max by (workflow, form) (tidemark_storage_workflow_bytes{form=~"rows|segments"})))',
              legend: '{{workflow}}',
            },
          ],
        },
      ],
    },
  ],
};
