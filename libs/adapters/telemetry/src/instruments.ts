/** Owns what each metric of the port is: its instrument, unit and meaning. One entry per name of `MetricName`. */

import type { MetricName } from '@tidemark/ports';

export type InstrumentKind = 'counter' | 'histogram' | 'gauge';

export interface InstrumentDescription {
  readonly kind: InstrumentKind;
  /** Unit, in UCUM. */
  readonly unit: string;
  readonly description: string;
  /** Its labels in the metrics endpoint. Other attributes are dropped, since every value of a label is a time series. */
  readonly labels: readonly string[];
}

/** Requirement F1 names these; all others are exposed with the project's name before them. */
const NAMED: ReadonlySet<MetricName> = new Set<MetricName>([
  'checkpoint_commit_latency_seconds',
  'checkpoint_buffer_drain_latency_seconds',
  'recovery_attempts_total',
  'recovery_duration_seconds',
  'effect_validation_failures_total',
  'compensation_depth_current',
  'memory_scope_violations_total',
]);

/** What collectors and scrapes call it. */
export const exposedName = (name: MetricName): string => (NAMED.has(name) ? name : `tidemark_${name}`);

/** Labels whose values come from outside: definitions, tenants, models and the like. Where a metric has too many of them, the rest is `other`. */
export const OPEN_LABELS: ReadonlySet<string> = new Set([
  'definition',
  'tenant',
  'model',
  'step',
  'operation',
  'phase',
]);
/** Series of one metric in a process, at most; beyond it open labels say `other`. */
export const SERIES_MAX_COUNT = 1_000;

type Labels = readonly string[];
const counter = (description: string, labels: Labels = []): InstrumentDescription => ({
  ...{ kind: 'counter', unit: '1', description, labels },
});
const seconds = (description: string, labels: Labels = []): InstrumentDescription => ({
  ...{ kind: 'histogram', unit: 's', description, labels },
});
const gauge = (description: string, unit: string, labels: Labels = []): InstrumentDescription => ({
  ...{ kind: 'gauge', unit, description, labels },
});

export const INSTRUMENTS: Readonly<Record<MetricName, InstrumentDescription>> = {
  checkpoint_commit_latency_seconds: seconds('From the end of a step to the acknowledged append of its checkpoint.'),
  checkpoint_buffer_drain_latency_seconds: seconds('Time to flush the staged checkpoints of a worker.'),
  recovery_attempts_total: counter('Recoveries, by action: replay, compensate, fail.', ['action']),
  recovery_duration_seconds: seconds(
    'From the end of a lost lease to the first checkpoint that the workflow commits after it, both as one coordinator projects them; not measured where another coordinator took over meanwhile, or where the workflow waited for something.',
  ),
  effect_validation_failures_total: counter('Recorded effect outcomes that their validator refused, by operation.', [
    'operation',
  ]),
  requests_changed_total: counter(
    'Calls whose request differed from the recorded one at a later attempt, by operation and by what followed: what is recorded was sent, answered, not rebuilt as it was, or a person asked.',
    ['operation', 'outcome'],
  ),
  compensation_depth_current: gauge('Greatest nesting depth of the compensations in progress.', '1'),
  events_rejected_total: counter('Events that the fold rejected, by reason.', ['reason']),
  records_malformed_total: counter('Records of the log that are not events.'),
  steps_total: counter('Committed steps.', ['step']),
  step_retries_total: counter('Steps that were run again.', ['step']),
  clock_skew_warnings_total: counter('Checkpoints whose holder had a clock behind that of the one before.'),
  projection_lag_events: gauge('Appended events that the projections do not show yet.', '1'),
  projection_batch_seconds: seconds('Time to fold and write one batch of the projector.'),
  queue_held: gauge('1 while the queue is paused; tenant * means all tenants.', '1', ['definition', 'tenant']),
  pool_in_flight: gauge('Workflows of the pool that live workers hold.', '1', ['pool']),
  pool_backlog: gauge('Workflows of the pool that could run, without a worker.', '1', ['pool']),
  pool_recovery_debt: gauge('Workflows of the pool that a dead worker held and no other has claimed yet.', '1', [
    'pool',
  ]),
  pool_demand: gauge('The sum of these three: how many workflows need a worker.', '1', ['pool']),
  pool_busy_workers: gauge('Live workers that hold a workflow of the pool.', '1', ['pool']),
  pool_held: gauge('Workflows of the pool that could run if their queue were not paused.', '1', ['pool']),
  pool_limited: gauge('Workflows of the pool that could run if their limits were not reached.', '1', ['pool']),
  pool_unassigned: gauge('Demand for which no pool is named.', '1'),
  pool_demand_age_ms: gauge('Age of the oldest poll that these are based on.', 'ms'),
  pool_oldest_age_ms: gauge(
    'How long the oldest workflow of the pool has waited for a worker, as far as this coordinator has seen; 0: none waits. Workflows that wait for their limits count, those of paused queues do not.',
    'ms',
    ['pool'],
  ),
  workflows_parked: gauge('Workflows that wait for a person, by reason.', '1', ['reason']),
  workflows_stuck: gauge('Workflows that could run and that no living worker takes, by reason.', '1', ['reason']),
  memory_scope_violations_total: counter(
    'What was out of scope: reads of working memory, and fragments of other phases in prompts.',
  ),
  model_answers_unusable_total: counter(
    'Answers of models in which nothing could be used, by code: empty, taken away by a filter, or with a number that would be rounded.',
    ['code'],
  ),
  model_calls_total: counter(
    'Attempts at model calls, by outcome: answered, limited (the provider was called too often: 429), failed.',
    ['definition', 'tenant', 'model', 'outcome'],
  ),
  model_call_seconds: seconds('From the request to the whole answer of a model.', ['model']),
  model_tokens_total: counter(
    'Tokens of answered model calls, by kind: input, cached_input, output, reasoning; estimated where the provider reported none.',
    ['definition', 'tenant', 'model', 'kind'],
  ),
  model_cost_micros_total: counter('Price of answered model calls by the price list, in millionths of its currency.', [
    ...['definition', 'tenant', 'model'],
  ]),
  phase_prompts_total: counter('Model calls whose prompt is a bundle, of definitions with phases.', [
    ...['definition', 'phase'],
  ]),
  phase_prompt_tokens_total: counter('Tokens of these prompts, as counted before the call.', ['definition', 'phase']),
  secrets_found_total: counter(
    'Suspected secrets in what workflows store, by the place and the kind; masked and refused ones too.',
    ['place', 'kind'],
  ),
  secret_search_events_total: counter(
    'Committed events under the policy report by outcome: searched for secrets, or skipped because more came than a small share of the time allows.',
    ['outcome'],
  ),
  session_summaries_missing_total: counter('Failed workflows whose session got no summary.'),
  checkpoint_resumes_total: counter(
    'Interrupted workflows by outcome: resumed, with a new checkpoint; stopped: parked, compensated or ended before one. Of all in workflows_interrupted_total.',
    ['outcome'],
  ),
  workflows_started_total: counter('Workflows that were started, children, undos and the next runs of one included.'),
  workflows_interrupted_total: counter(
    'Leases of workflows that ended without their holder: it died, lost them, or a person ended them; once until the next checkpoint.',
  ),
  workflows_ended_total: counter(
    'Workflows that ended, by status (completed, failed, compensated), and by whether they were interrupted and resumed, once or more.',
    ['status', 'resumed', 'definition', 'tenant'],
  ),
  workflow_ids_taken_total: counter(
    'Starts by the system itself whose id was found to be another workflow’s, by form: they never happen.',
    ['form'],
  ),
  session_recall_entries_total: counter(
    'Summaries of earlier sessions that were recalled, by whether words or meaning fit the question.',
    ['relevant'],
  ),
  recall_arm_workflows_total: counter(
    'Workflows that ended in sessions with (injected) and without (control) what memory recalls, where a definition compares them, by status.',
    ['arm', 'status'],
  ),
  recall_arm_steps_total: counter('Steps of these workflows.', ['arm']),
  recall_arm_tokens_total: counter('Tokens of these workflows.', ['arm']),
  recall_arm_seconds_total: counter('Seconds from their openings to their ends.', ['arm']),
  trace_spans_exported_total: counter('Spans that the collector has taken.'),
  trace_spans_dropped_total: counter('Spans (or histories of them) that were dropped or cut, by reason.', ['reason']),
  request_body_bytes: gauge(
    'Memory that bodies of requests in progress take, and what is read for answers: bytes that were read, and values once parsed.',
    'By',
  ),
  request_bodies_refused_total: counter(
    'Bodies of requests, and reads, that were refused because of the memory that they would take, by code.',
    ['reason'],
  ),
  log_size_bytes: gauge('Size of the checkpoint log.', 'By'),
  storage_bytes: gauge(
    'Size of history, by tenant and form: rows, segments, and segments as the log held them.',
    'By',
    ['tenant', 'form'],
  ),
  storage_workflow_bytes: gauge('The same for the largest workflows.', 'By', ['workflow', 'form']),
  segments_written_total: counter('Segments that were archived.', ['tenant']),
  segment_bytes_total: counter('Bytes of the segments that were archived.', ['tenant']),
  archived_bytes_total: counter('Bytes of the records in them, as the log held them.', ['tenant']),
};

/** Bounds of every histogram, in seconds: from a staged step (tens of µs) to a slow recovery. */
export const SECONDS_BOUNDARIES: readonly number[] = [
  0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];
