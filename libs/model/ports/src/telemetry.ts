/**
 * Owns the contract of metrics, and how a step's span reaches users' own instrumentation. Adapters: a Prometheus registry, and one that does
 * nothing (the default). Names of metrics are those of requirements F1; attributes hold ids and counts, never payloads or secrets. Traces are
 * drawn from events.
 */

export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[]>>;

export type MetricName =
  | 'checkpoint_commit_latency_seconds'
  | 'checkpoint_buffer_drain_latency_seconds'
  | 'recovery_attempts_total'
  | 'recovery_duration_seconds'
  | 'effect_validation_failures_total'
  | 'requests_changed_total'
  | 'compensation_depth_current'
  | 'events_rejected_total'
  | 'records_malformed_total'
  | 'steps_total'
  | 'step_retries_total'
  | 'clock_skew_warnings_total'
  | 'projection_lag_events'
  | 'projection_batch_seconds'
  | 'queue_held'
  | 'pool_in_flight'
  | 'pool_backlog'
  | 'pool_recovery_debt'
  | 'pool_demand'
  | 'pool_busy_workers'
  | 'pool_held'
  | 'pool_limited'
  | 'pool_unassigned'
  | 'pool_demand_age_ms'
  | 'pool_oldest_age_ms'
  | 'workflows_parked'
  | 'workflows_stuck'
  | 'log_size_bytes'
  | 'segments_written_total'
  | 'segment_bytes_total'
  | 'archived_bytes_total'
  | 'storage_bytes'
  | 'storage_workflow_bytes'
  | 'memory_scope_violations_total'
  | 'model_answers_unusable_total'
  | 'model_calls_total'
  | 'model_call_seconds'
  | 'model_tokens_total'
  | 'model_cost_micros_total'
  | 'phase_prompts_total'
  | 'phase_prompt_tokens_total'
  | 'secrets_found_total'
  | 'secret_search_events_total'
  | 'session_summaries_missing_total'
  | 'trace_spans_exported_total'
  | 'trace_spans_dropped_total'
  | 'checkpoint_resumes_total'
  | 'workflows_started_total'
  | 'workflows_interrupted_total'
  | 'workflows_ended_total'
  | 'workflow_ids_taken_total'
  | 'session_recall_entries_total'
  | 'recall_arm_workflows_total'
  | 'recall_arm_steps_total'
  | 'recall_arm_tokens_total'
  | 'recall_arm_seconds_total'
  | 'request_body_bytes'
  | 'request_bodies_refused_total';

export interface Telemetry {
  /** Share of the traces that are always kept, 0..1; absent: workflows have no traces here. */
  readonly traceRatio?: number | undefined;
  /**
   * Runs the work with the span of this `traceparent` as the active one, so that users' own instrumentation starts its spans below it.
   * `trace` is called only where a span could use it.
   */
  readonly within?: (<T>(trace: () => string, work: () => T) => T) | undefined;
  /** Adds to a counter. `trace`: the `traceparent` of an example. */
  count(name: MetricName, value: number, attributes?: Attributes, trace?: string): void;
  /** Records one value of a histogram; durations in seconds. */
  observe(name: MetricName, value: number, attributes?: Attributes, trace?: string): void;
  /** Sets a gauge. */
  gauge(name: MetricName, value: number, attributes?: Attributes): void;
}

/** Records nothing. */
export const noTelemetry: Telemetry = { count: () => {}, observe: () => {}, gauge: () => {} };
