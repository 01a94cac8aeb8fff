/**
 * Owns one claimed workflow for the runtime's own tests: opened, folded and held as a worker holds it, without a worker and without rows.
 * Must not be used outside tests.
 */

import { decodePayload } from '@tidemark/codec';
import { type HolderId, isClosed, type Offset, type RecoveryPolicy } from '@tidemark/core';
import type { EffectRow, EventLog } from '@tidemark/ports';
import type { CallEffect, Definition } from '@tidemark/runtime';
import { LamportClock, LeasedStream } from '@tidemark/runtime';
import { ModelCalls, type RunEnd, StreamContent, WorkflowRunner } from '@tidemark/runtime/internals';
import { entriesOf, foldLog, openWorkflow, P0 } from './simulated-definition.ts';
import { type SimulatedPorts, simulatedPorts } from './simulated-ports.ts';

export interface SimulatedRun {
  readonly ports: SimulatedPorts;
  readonly stream: LeasedStream;
  readonly content: StreamContent;
  readonly runner: WorkflowRunner;
  readonly stop: AbortController;
  readonly abandon: AbortController;
}

/** Opens a workflow in the log's first partition, and claims it. */
export async function heldRun(
  log: EventLog,
  definition: Definition,
  options: { readonly callEffect?: CallEffect; readonly ports?: SimulatedPorts } = {},
): Promise<SimulatedRun> {
  const ports = options.ports ?? simulatedPorts(log);
  await openWorkflow(ports, definition);
  return claimedRun(log, definition, { ...options, ports });
}

/** Claims the open workflow of the log's first partition, as the next holder does. */
export async function claimedRun(
  log: EventLog,
  definition: Definition,
  options: {
    readonly callEffect?: CallEffect;
    readonly ports: SimulatedPorts;
    readonly holder?: string;
    /** Effects of the newest checkpoint. */
    readonly head?: readonly EffectRow[];
    readonly recovery?: RecoveryPolicy | undefined;
  },
): Promise<SimulatedRun> {
  const { ports, holder = 'h' } = options;
  const { state } = await foldLog(log);
  const [opened] = [...state.streams.values()].filter((stream) => !isClosed(stream));
  const content = new StreamContent();
  for (const entry of await entriesOf(log)) if (entry.kind === 'event') content.apply(entry.envelope, entry.payload);
  let runner: WorkflowRunner | undefined;
  const stream = new LeasedStream(opened!, state.next as Offset, {
    ports,
    lamport: new LamportClock(),
    partition: P0,
    holder: `${holder}${opened!.epoch + 1}` as HolderId,
    onForeign: ({ envelope, payload }) => content.apply(envelope, payload),
    onFenced: (error) => runner?.cancel(error),
  });
  const claimed = stream.stage([{ type: 'LeaseClaimed', control: {}, payload: null }]);
  stream.flush();
  await claimed;
  const stop = new AbortController();
  const abandon = new AbortController();
  runner = new WorkflowRunner({
    ports,
    definition,
    stream,
    content,
    stop: stop.signal,
    abandon: abandon.signal,
    recordedCalls: async () => {
      const entries = await entriesOf(log);
      return new Map(
        entries.flatMap((entry) =>
          entry.kind === 'event' && entry.envelope.type === 'EffectIntended'
            ? [[entry.envelope.control.key, decodePayload('EffectIntended', entry.payload)] as const]
            : [],
        ),
      );
    },
    readOutputs: async () => [],
    readJournal: async () => [],
    readMemories: async () => [],
    recall: async () => ({ entries: [], by: 'words', warning: null }),
    reads: ports.store,
    witness: () => {},
    models: new ModelCalls({
      ports,
      definition,
      context: content.context,
      input: () => content.input,
      state: () => stream.speculative,
      applied: async () => {},
      onStream: () => ({ onDelta: () => {}, end: () => {} }),
    }),
    recovery: options.recovery,
    readHead: async () => ({ step: 'a', effects: options.head ?? [] }),
    callEffect: options.callEffect ?? ((effect, request, context) => effect.call(request, context)),
  });
  return { ports, stream, content, runner, stop, abandon };
}

/** The run's end, watched so that a test may check whether it has come, and never unhandled. */
export function watched(run: Promise<RunEnd>): {
  readonly ended: Promise<RunEnd | Error>;
  outcome: RunEnd | Error | undefined;
} {
  const watch: { ended: Promise<RunEnd | Error>; outcome: RunEnd | Error | undefined } = {
    outcome: undefined,
    ended: run.catch((error: unknown) => error as Error),
  };
  void watch.ended.then((outcome) => {
    watch.outcome = outcome;
  });
  return watch;
}
