/**
 * Owns history in bulk: records of workflows that have ended, as a worker writes them, for benchmarks that need more of it than can be run
 * in their time. Ids are drawn, and texts are words of real prose in the frequency that they have there, so that nothing is won or lost
 * by what is easy to compress. Must not do I/O but reading that prose.
 */

import { randomBytes } from 'node:crypto';
import { encodePayload, encodeRecord, type Payloads } from '@tidemark/codec';
import {
  type Controls,
  DEFAULT_TENANT,
  type Envelope,
  type EventType,
  type Partition,
  type TaskId,
  uuidv7,
  type WorkflowId,
} from '@tidemark/core';
import type { LogRecord } from '@tidemark/ports';
import { prose } from '../conversation.ts';
import { nextState } from '../pseudo-random.ts';

const PROSE_BYTES = 1_000_000;
const RECORD_MAX_BYTES = 1_048_576;
/** Between two events of a workflow, in milliseconds. */
const PACE_MS = 40;
const STEPS = ['plan', 'search', 'read', 'write'] as const;

/** What a workflow has beside its checkpoints: its opening, its claim, its end. */
export const EVENTS_BESIDE_STEPS = 3;

export interface EndedWorkflow {
  readonly workflow: WorkflowId;
  readonly partition: Partition;
  /** The next one of its partition. */
  readonly generation: number;
  readonly steps: number;
  /** Bytes of each step's output. */
  readonly outputBytes: number;
  /** When it began, in milliseconds since the Unix epoch. */
  readonly atMs: number;
}

const id = (atMs: number): string => uuidv7(atMs, randomBytes(10));
const digest = (): string => randomBytes(32).toString('hex');

export class BulkHistory {
  readonly #words = prose(PROSE_BYTES).toString('latin1').split(/\s+/);
  #drawn = 1;
  #lamport = 0;

  /** Its records, one after the other. */
  workflow(of: EndedWorkflow): readonly LogRecord[] {
    const { steps, partition, atMs } = of;
    const records: LogRecord[] = [];
    const holder = `worker-${id(atMs)}`;
    const add = <T extends EventType>(type: T, control: Controls[T], payload: Payloads[T]): void => {
      const at = atMs + records.length * PACE_MS;
      const held =
        type === 'WorkflowOpened'
          ? { epoch: 0, holder: '', ordinal: 0 }
          : { epoch: 1, holder, ordinal: records.length };
      const envelope = {
        ...{ v: 1, id: id(at), tenant: DEFAULT_TENANT, workflow: of.workflow, generation: of.generation },
        ...{ lamport: ++this.#lamport, ...held, atMs: at, type, control },
      } as unknown as Envelope;
      records.push({
        type,
        value: encodeRecord({ envelope, payload: encodePayload(type, payload) }, RECORD_MAX_BYTES),
      });
    };
    const opened = { definition: 'bench-history', version: 1, rules: 1, partition, placement: 'exclusive' as const };
    const rest = { inputDigest: digest(), pinned: false, shadow: false, compensates: null };
    const first = [{ step: STEPS[0], after: [], when: [] }];
    add(
      'WorkflowOpened',
      { ...opened, ...rest, tasks: first },
      { input: { topic: this.#text(60) }, belief: {}, tasks: [{}] },
    );
    add('LeaseClaimed', {}, null);
    let parent: string | null = null;
    for (let sequence = 1; sequence <= steps; sequence++) {
      const checkpoint = id(atMs + records.length * PACE_MS);
      const isLast = sequence === steps;
      const control = {
        ...{
          checkpoint,
          sequence,
          parent,
          task: `${sequence - 1}.0` as TaskId,
          step: STEPS[(sequence - 1) % STEPS.length],
        },
        ...{
          stepVersion: 1,
          inputDigest: digest(),
          belief: 'none',
          tokens: 1_200,
          costMicros: 3_600,
          supersedes: null,
        },
        tasks: isLast ? [] : [{ step: STEPS[sequence % STEPS.length], after: [], when: [] }],
        lastAction: STEPS[(sequence - 1) % STEPS.length],
      } as unknown as Controls['CheckpointCommitted'];
      const output = { text: this.#text(of.outputBytes), found: sequence };
      add('CheckpointCommitted', control, { output, tasks: isLast ? [] : [{ n: sequence }] });
      parent = checkpoint;
    }
    add('WorkflowCompleted', { outputDigest: digest() } as Controls['WorkflowCompleted'], { output: { steps } });
    return records;
  }

  #text(bytes: number): string {
    let text = '';
    while (text.length < bytes) {
      this.#drawn = nextState(this.#drawn);
      text += `${this.#words[Math.floor((this.#drawn / 2 ** 32) * this.#words.length)]} `;
    }
    return text.slice(0, bytes);
  }
}
