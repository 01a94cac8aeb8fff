/** Owns the sample records of tests and of the documentation's queries: workflows whose steps call a model once each. For tests alone. */

import { encodePayload, encodeRecord, type NewEvent, type Payloads } from '@tidemark/codec';
import type { Controls, Envelope, EventType, Offset, Position } from '@tidemark/core';
import type { SegmentRecord } from './encode-segment.ts';

const RECORD_MAX_BYTES = 4_194_304;
const START_MS = Date.UTC(2026, 10, 2, 9);
const STEP_MS = 1_500;
const digest = (seed: number): string => seed.toString(16).padStart(2, '0').repeat(32);

interface Step {
  readonly step: string;
  readonly tokens: number;
  readonly costMicros: number;
  readonly output: unknown;
}

const research: readonly Step[] = [
  { step: 'plan', tokens: 412, costMicros: 1_236, output: { questions: ['What is known?', 'What is not?'] } },
  { step: 'research', tokens: 3_180, costMicros: 9_540, output: { source: 'docs/guarantees.md', found: 7 } },
  { step: 'write', tokens: 1_905, costMicros: 11_430, output: { title: 'Überblick', words: 640 } },
];
const review: readonly Step[] = [
  { step: 'plan', tokens: 388, costMicros: 1_164, output: { questions: ['Is it right?'] } },
  { step: 'research', tokens: 2_020, costMicros: 6_060, output: { source: 'docs/effects.md', found: 3 } },
];

/** One partition's history from offset 0: a report, its review, and a late checkpoint of the report. */
export function sampleRecords(report = 'report-1', revision = 'review-7'): readonly SegmentRecord[] {
  const history = new History();
  history.workflow(report, research);
  history.workflow(revision, review);
  history.add(report, 'CheckpointCommitted', checkpoint(report, 3, research[2]!), output(research[2]!), 'closed');
  return history.records;
}

const checkpoint = (workflow: string, sequence: number, { step, tokens, costMicros }: Step) => ({
  checkpoint: `${workflow}-checkpoint-${sequence}`,
  sequence,
  parent: sequence === 1 ? null : `${workflow}-checkpoint-${sequence - 1}`,
  task: `${sequence - 1}.0`,
  step,
  stepVersion: 1,
  inputDigest: digest(sequence),
  tasks: [],
  belief: 'none' as const,
  tokens,
  costMicros,
  lastAction: `did ${step}`,
  supersedes: null,
});

const output = (step: Step): unknown => ({ output: step.output, tasks: [] });

class History {
  readonly records: SegmentRecord[] = [];
  readonly #positions = new Map<string, number>();

  workflow(workflow: string, steps: readonly Step[]): void {
    const opened = { ...{ definition: 'report', version: 1, rules: 1, partition: 12, placement: 'shared' } };
    const tasks = [{ step: steps[0]!.step, after: [], when: [] }];
    const rest = { inputDigest: digest(0), tasks, pinned: false, shadow: false, compensates: null };
    this.add(
      workflow,
      'WorkflowOpened',
      { ...opened, ...rest },
      { input: { topic: workflow }, belief: {}, tasks: [{}] },
    );
    this.add(workflow, 'LeaseClaimed', {}, null);
    for (const [index, step] of steps.entries()) {
      const { tokens, costMicros } = step;
      const task = `${index}.0`;
      const key = `${workflow}:${task}:model:0`;
      const call = { task, key, operation: 'model', kind: 'idempotent', requestDigest: digest(index + 16) };
      const reserved = { bundle: null, reserved: { tokens: 4_000, costMicros: 20_000 } };
      const request = { messages: [{ role: 'user', content: `${step.step} for ${workflow}` }] };
      this.add(workflow, 'EffectIntended', { ...call, timeoutMs: 60_000, model: reserved }, { request });
      const resolved = { ...call, outcome: 'done', responseDigest: digest(index + 32), spent: { tokens, costMicros } };
      this.add(workflow, 'EffectResolved', resolved, { response: { text: `Here is the ${step.step}.` } });
      this.add(workflow, 'CheckpointCommitted', checkpoint(workflow, index + 1, step), output(step));
    }
    this.add(workflow, 'WorkflowCompleted', { outputDigest: digest(99) }, { output: steps.at(-1)!.output });
  }

  add(workflow: string, type: EventType, control: unknown, payload: unknown, rejected: string | null = null): void {
    const offset = this.records.length;
    const position = (this.#positions.get(workflow) ?? 0) + 1;
    if (rejected === null) this.#positions.set(workflow, position);
    const envelope = {
      ...{ v: 1, id: `event-${offset}`, tenant: 'acme', workflow, generation: 1, lamport: offset + 1, epoch: 1 },
      ...{ holder: 'worker-1', ordinal: position, atMs: START_MS + offset * STEP_MS, type },
      control: control as Controls[EventType],
    } as Envelope;
    const event: NewEvent = { envelope, payload: encodePayload(type, payload as Payloads[EventType]) };
    this.records.push({
      offset: offset as Offset,
      value: encodeRecord(event, RECORD_MAX_BYTES),
      position: rejected === null ? (position as Position) : null,
      rejected,
    });
  }
}

/** Records with any bytes, from offset `from`; all accepted. */
export const recordsOf = (values: readonly (Uint8Array | string)[], from = 0): readonly SegmentRecord[] =>
  values.map((value, index) => ({
    offset: (from + index) as Offset,
    value: Buffer.from(value),
    position: (index + 1) as Position,
    rejected: null,
  }));
