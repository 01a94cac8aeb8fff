/** Owns the dashboard of a workflow's life: steps, recovery, effects, compensations, memory, and the traces of one workflow. */

import type { Dashboard } from './panel.ts';

export const life: Dashboard = {
  uid: 'tidemark-life',
  title: "Tidemark: a workflow's life",
  says: 'From step to step: commits, recovery, effects, undos, memory. Name a workflow to see its traces and what it takes.',
  variables: [
    { name: 'workflow', label: 'Workflow' },
    { name: 'step', label: 'Step', query: 'label_values(tidemark_steps_total, step)' },
  ],
  rows: [
    {
      title: 'One workflow',
      panels: [
        {
          title: 'Its traces',
          says: 'One trace is one workflow; children and undos are linked. Needs its id above.',
          traces: { service: 'tidemark', tags: 'tidemark.workflow="$workflow"' },
        },
        {
          title: 'What it takes',
          says: 'Of the twenty workflows that take most; looked at once an hour.',
          unit: 'bytes',
          queries: [
            {
              expr: 'max by (workflow, form) (tidemark_storage_workflow_bytes{workflow=~"$workflow.*"})',
              legend: '{{workflow}} {{form}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Steps',
      panels: [
        {
          title: 'Started and ended',
          says: 'Workflows that started, and that ended, by status.',
          unit: 'ops',
          queries: [
            { expr: 'sum(rate(tidemark_workflows_started_total[$__rate_interval]))', legend: 'started' },
            { expr: 'sum by (status) (rate(tidemark_workflows_ended_total[$__rate_interval]))', legend: '{{status}}' },
          ],
        },
        {
          title: 'Committed',
          says: 'Committed steps, by step.',
          unit: 'ops',
          stacked: true,
          queries: [
            { expr: 'sum by (step) (rate(tidemark_steps_total{step=~"$step"}[$__rate_interval]))', legend: '{{step}}' },
          ],
        },
        {
          title: 'Tried again',
          says: 'Attempts that were made again, by step.',
          unit: 'ops',
          queries: [
            {
              expr: 'sum by (step) (rate(tidemark_step_retries_total{step=~"$step"}[$__rate_interval]))',
              legend: '{{step}}',
            },
          ],
        },
        {
          title: 'Commit latency',
          says: 'How many commits took how long.',
          unit: 's',
          kind: 'heatmap',
          queries: [
            {
              expr: 'sum by (le) (increase(checkpoint_commit_latency_seconds_bucket[$__rate_interval]))',
              legend: '{{le}}',
            },
          ],
        },
        {
          title: 'Flush of staged checkpoints',
          says: 'Time until they are in the log.',
          unit: 's',
          exemplars: true,
          queries: [
            {
              expr: 'histogram_quantile(0.99, sum by (le) (rate(checkpoint_buffer_drain_latency_seconds_bucket[$__rate_interval])))',
              legend: 'p99',
            },
          ],
        },
      ],
    },
    {
      title: 'Recovery',
      panels: [
        {
          title: 'Take-overs',
          says: 'Interrupted workflows that committed a checkpoint since; and those that were parked, compensated or ended before one.',
          unit: 'ops',
          queries: [
            { expr: 'sum(rate(tidemark_workflows_interrupted_total[$__rate_interval]))', legend: 'interrupted' },
            {
              expr: 'sum by (outcome) (rate(tidemark_checkpoint_resumes_total[$__rate_interval]))',
              legend: '{{outcome}}',
            },
          ],
        },
        {
          title: 'Resume rate',
          says: 'Share of the interrupted workflows that committed a checkpoint since, and share of all that ended which had resumed at least once, in the last hour.',
          unit: 'percentunit',
          queries: [
            {
              expr: 'sum(rate(tidemark_checkpoint_resumes_total{outcome="resumed"}[1h])) / sum(rate(tidemark_workflows_interrupted_total[1h]))',
              legend: 'of the interrupted',
            },
            {
              expr: '(sum(rate(tidemark_workflows_ended_total{resumed="true"}[1h])) or vector(0)) / sum(rate(tidemark_workflows_ended_total[1h]))',
              legend: 'of all that ended',
            },
          ],
        },
        {
          title: 'Time to recover',
          says: 'From the end of a lost lease to the first checkpoint after it.',
          unit: 's',
          warn: [1, 10],
          queries: [0.5, 0.99].map((share) => ({
            expr: `histogram_quantile(${share}, sum by (le) (rate(recovery_duration_seconds_bucket[$__rate_interval])))`,
            legend: `p${share * 100}`,
          })),
        },
      ],
    },
    {
      title: 'Effects and undos',
      panels: [
        {
          title: 'Outcomes that did not hold',
          says: 'Recorded outcomes of effects that their validator refused.',
          unit: 'ops',
          queries: [
            {
              expr: 'sum by (operation) (rate(effect_validation_failures_total[$__rate_interval]))',
              legend: '{{operation}}',
            },
          ],
        },
        {
          title: 'Requests that changed',
          says: 'Calls whose request at a later attempt is not the recorded one, and what followed.',
          unit: 'ops',
          queries: [
            {
              expr: 'sum by (operation, outcome) (rate(tidemark_requests_changed_total[$__rate_interval]))',
              legend: '{{operation}} {{outcome}}',
            },
          ],
        },
        {
          title: 'Undos in one another',
          says: 'The second is an alert; instead of a third it needs a person.',
          unit: 'short',
          warn: [2, 3],
          queries: [{ expr: 'max(compensation_depth_current)', legend: 'depth' }],
        },
      ],
    },
    {
      title: 'Models',
      panels: [
        {
          title: 'Calls',
          says: 'Attempts at model calls, by model and by how they ended: answered, limited (429), failed.',
          unit: 'ops',
          queries: [
            {
              expr: 'sum by (model, outcome) (rate(tidemark_model_calls_total[$__rate_interval]))',
              legend: '{{model}} {{outcome}}',
            },
          ],
        },
        {
          title: 'Time of an answer',
          says: 'From the request to the whole answer; an exemplar leads to its trace.',
          unit: 's',
          queries: [
            {
              expr: 'histogram_quantile(0.5, sum by (le, model) (rate(tidemark_model_call_seconds_bucket[$__rate_interval])))',
              legend: '{{model}} p50',
            },
            {
              expr: 'histogram_quantile(0.99, sum by (le, model) (rate(tidemark_model_call_seconds_bucket[$__rate_interval])))',
              legend: '{{model}} p99',
            },
          ],
        },
        {
          title: 'Tokens',
          says: 'Of answered calls, by model and kind.',
          unit: 'ops',
          queries: [
            {
              expr: 'sum by (model, kind) (rate(tidemark_model_tokens_total[$__rate_interval]))',
              legend: '{{model}} {{kind}}',
            },
          ],
        },
        {
          title: 'Price of an hour',
          says: 'By the price list, in its currency, for the definitions and tenants that cost most. The first call of each in a process is not in it: no bill.',
          unit: 'short',
          queries: [
            {
              expr: 'topk(20, sum by (definition, tenant) (increase(tidemark_model_cost_micros_total[1h]))) / 1e6',
              legend: '{{definition}} {{tenant}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Context and memory',
      panels: [
        {
          title: 'Out of scope',
          says: 'Reads of working memory that were stopped, since another phase had the key, and fragments of other phases in prompts.',
          unit: 'ops',
          queries: [{ expr: 'sum(rate(memory_scope_violations_total[$__rate_interval]))', legend: 'out of scope' }],
        },
        {
          title: 'Answers without anything',
          says: 'Models that answered nothing, whose answer was filtered away, or that wrote a number which would be rounded.',
          unit: 'ops',
          queries: [
            {
              expr: 'sum by (code) (rate(tidemark_model_answers_unusable_total[$__rate_interval]))',
              legend: '{{code}}',
            },
          ],
        },
        {
          title: 'Secrets in state',
          says: 'Suspected secrets in what workflows store, by the place; masked and refused ones too. Without what only looks random. Under report, of the events that are searched, and how many a second are skipped.',
          unit: 'ops',
          queries: [
            {
              expr: 'sum by (place) (rate(tidemark_secrets_found_total{kind!="high-entropy"}[$__rate_interval]))',
              legend: '{{place}}',
            },
            {
              expr: 'sum(rate(tidemark_secret_search_events_total{outcome="skipped"}[$__rate_interval]))',
              legend: 'events skipped',
            },
          ],
        },
        {
          title: 'Prompts by phase',
          says: 'Tokens of a prompt, by definition and phase: one that grows is carrying what it was not handed.',
          unit: 'short',
          queries: [
            {
              expr: 'sum by (definition, phase) (rate(tidemark_phase_prompt_tokens_total[$__rate_interval])) / sum by (definition, phase) (rate(tidemark_phase_prompts_total[$__rate_interval]))',
              legend: '{{definition}} {{phase}}',
            },
          ],
        },
        {
          title: 'Recall precision',
          says: 'Share of recalled summaries that fit the question, by words or meaning: a proxy.',
          unit: 'percentunit',
          queries: [
            {
              expr: 'sum(rate(tidemark_session_recall_entries_total{relevant="true"}[1h])) / sum(rate(tidemark_session_recall_entries_total[1h]))',
              legend: 'fit',
            },
          ],
        },
        ...(
          [
            ['steps', 'short'],
            ['tokens', 'short'],
            ['seconds', 's'],
          ] as const
        ).map(([what, unit]) => ({
          title: `Recall by its use: ${what}`,
          says: `Mean ${what} of a workflow in sessions with what memory recalls, and in the control arm without it.`,
          unit,
          queries: [
            {
              expr: `sum by (arm) (rate(tidemark_recall_arm_${what}_total[1h])) / sum by (arm) (rate(tidemark_recall_arm_workflows_total[1h]))`,
              legend: '{{arm}}',
            },
          ],
        })),
        {
          title: 'Recall by its use: outcome',
          says: 'Share of the workflows of each arm that completed.',
          unit: 'percentunit',
          queries: [
            {
              expr: 'sum by (arm) (rate(tidemark_recall_arm_workflows_total{status="completed"}[1h])) / sum by (arm) (rate(tidemark_recall_arm_workflows_total[1h]))',
              legend: '{{arm}}',
            },
          ],
        },
        {
          title: 'Sessions without a summary',
          says: 'Failed workflows whose session was left without one.',
          unit: 'short',
          queries: [
            { expr: 'sum(increase(tidemark_session_summaries_missing_total[1h]))', legend: 'in the last hour' },
          ],
        },
      ],
    },
  ],
};
