/** Owns definitions for the runtime's own tests, made by hand with only what a test needs, and streams opened from them. Must not be used outside tests. */

import { decodeRecord, type Payloads } from '@tidemark/codec';
import {
  type Controls,
  emptyPartition,
  eventId,
  foldEntry,
  type InboxEventType,
  type Json,
  type Lamport,
  type LogEntry,
  type Offset,
  type Partition,
  type PartitionState,
  type StreamState,
  type TenantId,
  type WorkflowId,
  workflowId,
} from '@tidemark/core';
import type { EventLog } from '@tidemark/ports';
import type { Definition, EffectDefinition, RetryPolicy, StepDefinition, TaskRequest } from '@tidemark/runtime';
import { LamportClock } from '@tidemark/runtime';
import { EVENT_MAX_BYTES, inboxRecord as recordOf, Starter } from '@tidemark/runtime/internals';
import type { SimulatedPorts } from './simulated-ports.ts';

export const TENANT = 't1' as TenantId;
export const P0 = 0 as Partition;

/** The value itself: what a schema would let pass. */
const asIs = (value: unknown): Json => (value ?? null) as Json;

export const NO_RETRY: RetryPolicy = {
  attempts: 1,
  firstDelayMs: 0,
  factor: 1,
  maxDelayMs: 0,
  jitter: 0,
  nonRetryable: [],
};
export const RETRY_AT_ONCE: RetryPolicy = { ...NO_RETRY, attempts: 5, maxDelayMs: 60_000 };

export type StepSpec = Partial<Omit<StepDefinition, 'name' | 'mayAdd' | 'run'>> & {
  readonly run: StepDefinition['run'];
  readonly mayAdd?: readonly string[];
};

export type DefinitionSpec = Partial<Omit<Definition, 'steps' | 'begin'>> & {
  readonly steps: Readonly<Record<string, StepSpec | StepDefinition['run']>>;
  /** First belief; `{}` by default. */
  readonly belief?: Json;
  /** First tasks; one of the first step by default. */
  readonly next?: readonly TaskRequest[];
};

/** A definition whose schemas let everything pass, and whose steps may add any other. */
export function definitionOf(spec: DefinitionSpec): Definition {
  const { steps, belief = {}, next, ...rest } = spec;
  const names = Object.keys(steps);
  const first = next ?? [{ step: names[0]!, input: null }];
  return {
    name: 'd',
    version: 1,
    parallel: 8,
    placement: 'exclusive',
    effects: [],
    onFailure: 'fail',
    stepBudget: 100_000,
    upcasters: new Map(),
    parseInput: asIs,
    parseBelief: asIs,
    parseOutput: asIs,
    begin: () => ({ belief, next: first }),
    ...rest,
    steps: new Map(names.map((name) => [name, stepOf(name, steps[name]!, names)])),
  };
}

function stepOf(name: string, spec: StepSpec | StepDefinition['run'], names: readonly string[]): StepDefinition {
  const settings = typeof spec === 'function' ? { run: spec } : spec;
  return {
    durability: 'durable',
    retry: NO_RETRY,
    parseInput: asIs,
    parseOutput: asIs,
    ...settings,
    name,
    mayAdd: new Set(settings.mayAdd ?? names),
  };
}

export const effectOf = (spec: Partial<EffectDefinition> & Pick<EffectDefinition, 'call'>): EffectDefinition => ({
  operation: 'pay',
  kind: 'irreversible',
  timeoutMs: 30_000,
  retry: NO_RETRY,
  confirm: { probeEveryMs: 60_000, timeoutMs: 86_400_000 },
  parseRequest: asIs,
  parseResponse: asIs,
  ...spec,
});

/** Starts a workflow as a client does; the opening is in the log then. */
export async function openWorkflow(
  ports: SimulatedPorts,
  definition: Definition,
  id = 'w',
  input: unknown = null,
): Promise<WorkflowId> {
  const starter = new Starter({ ports, lamport: new LamportClock() });
  const started = await starter.start({ definition, input, workflow: workflowId(id), tenant: TENANT });
  return started.workflow;
}

/** Content of a partition of the log. */
export async function entriesOf(log: EventLog, partition: Partition = P0): Promise<readonly LogEntry[]> {
  const { start } = (await log.bounds([partition])).get(partition)!;
  const [result] = await log.read([{ partition, from: start }]);
  return result!.records.map((record) => decodeRecord(record.value));
}

/** Types of the events in a partition, in order. */
export async function typesOf(log: EventLog, partition: Partition = P0): Promise<readonly string[]> {
  return (await entriesOf(log, partition)).map((entry) => (entry.kind === 'event' ? entry.envelope.type : entry.kind));
}

/** The controls of a type's events in the log's first partition, in order. */
export async function controlsOf(log: EventLog, type: string): Promise<readonly Record<string, unknown>[]> {
  const entries = await entriesOf(log);
  return entries.flatMap((entry) =>
    entry.kind === 'event' && entry.envelope.type === type ? [entry.envelope.control as Record<string, unknown>] : [],
  );
}

/** Folds a partition from its start as any other reader would, and says which events were rejected. */
export async function foldLog(
  log: EventLog,
  partition: Partition = P0,
): Promise<{ readonly state: PartitionState; readonly rejected: readonly string[] }> {
  let state = emptyPartition(partition, 0 as Offset);
  const rejected: string[] = [];
  for (const entry of await entriesOf(log, partition)) {
    const step = foldEntry(state, entry);
    state = step.state;
    if (step.verdict.kind !== 'accepted') {
      const type = entry.kind === 'event' ? entry.envelope.type : entry.kind;
      rejected.push(`${type} ${step.verdict.kind === 'rejected' ? step.verdict.reason : 'unreadable'}`);
    }
  }
  return { state, rejected };
}

/** The record of an inbox event that someone else writes to the stream. */
export function inboxRecord<T extends InboxEventType>(
  stream: Pick<StreamState, 'tenant' | 'workflow' | 'generation'>,
  id: string,
  type: T,
  control: Controls[T],
  payload: Payloads[T],
  atMs = 1_000_000,
): Uint8Array {
  const { tenant, workflow, generation } = stream;
  const stamps = { id: eventId(id), lamport: 1 as Lamport, atMs };
  return recordOf(
    { recordMaxBytes: EVENT_MAX_BYTES },
    { tenant, workflow, generation, ...stamps, type, control },
    payload,
  ).value;
}

/** The revocation of the stream's live lease. */
export function revocationOf(stream: StreamState, isGone = true): Uint8Array {
  const { epoch, holder } = stream.lease!;
  const control = { epoch, holder, reason: 'holder-dead', isGone } as const;
  return inboxRecord(stream, `revoke:${epoch}`, 'LeaseRevoked', control, null);
}
