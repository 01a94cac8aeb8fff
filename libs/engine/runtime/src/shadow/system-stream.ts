/**
 * Owns streams of the system's own to which one process writes and that end: what it says is kept as the output of checkpoints, so that
 * they are archived and read like any history, and nobody claims them. Definitions of such begin with `tidemark.`. Must not know what is
 * written.
 */

import {
  type HolderId,
  holderId,
  isClosed,
  type Json,
  type TenantId,
  UnavailableError,
  uuidv7,
  type WorkflowId,
} from '@tidemark/core';
import { definitionOfShadow, type StepResult } from '../definition/index.ts';
import { Starter } from '../inbox/index.ts';
import { type LamportClock, type Ports, whileUnavailable } from '../kernel/index.ts';
import { ReportedStream } from './reported-stream.ts';

const STEP = 'write';

export interface SystemStreamsOptions {
  readonly ports: Ports;
  readonly lamport: LamportClock;
  readonly partitionsMax?: number | undefined;
}

export interface SystemStreamName {
  /** Begins with `tidemark.`. */
  readonly definition: string;
  readonly workflow: WorkflowId;
  readonly tenant: TenantId;
}

export class SystemStreams {
  readonly #options: SystemStreamsOptions;
  readonly #starter: Starter;
  readonly #holder: HolderId;

  constructor(options: SystemStreamsOptions) {
    this.#options = options;
    const { ports, lamport, partitionsMax } = options;
    this.#starter = new Starter({ ports, lamport, partitionsMax });
    this.#holder = holderId(`system-${uuidv7(ports.clock.nowMs(), ports.prng.bytes(10))}`);
  }

  /** A stream that begins, or one that another process has left open. Waits while servers are away, until `signal` aborts. */
  async open(name: SystemStreamName, signal: AbortSignal): Promise<SystemStream> {
    const { ports, lamport } = this.#options;
    const { definition, workflow, tenant } = name;
    return whileUnavailable(ports.clock, signal, async () => {
      await this.#starter.start({ definition: definitionOf(definition), input: null, workflow, tenant, shadow: true });
      const stream = await ReportedStream.load(workflow, { ports, lamport, holder: this.#holder });
      if (stream !== undefined) return new SystemStream(definition, stream);
      throw new UnavailableError('rows-behind', `The rows don't know the stream ${workflow} yet.`);
    });
  }
}

/** After any failure it is worthless: what failed may be in the log, and is written again into another. */
export class SystemStream {
  readonly #definition: string;
  readonly #stream: ReportedStream;

  constructor(definition: string, stream: ReportedStream) {
    this.#definition = definition;
    this.#stream = stream;
  }

  get isClosed(): boolean {
    return isClosed(this.#stream.state);
  }

  /** Writes that were made to it before. */
  get writeCount(): number {
    return this.#stream.state.head.sequence;
  }

  /** Resolves when the log has taken it. `what`: in words, clear in rows and log. Throws as `ReportedStream.write` does. */
  async write(output: Json, what: string): Promise<void> {
    await this.#commit({ output, next: [{ step: STEP, input: null }], lastAction: what });
  }

  /** Nothing is written to it any more. Harmless when repeated. */
  async close(): Promise<void> {
    if (!this.isClosed) await this.#commit({ done: null, lastAction: 'closed' });
  }

  async #commit(result: StepResult): Promise<void> {
    await this.#stream.write((add) => add(this.#stream.draftsOf(definitionOf(this.#definition), STEP, result)!));
  }
}

const definitionOf = (name: string): ReturnType<typeof definitionOfShadow> =>
  definitionOfShadow({ name, version: 1 }, [STEP], false, { input: null, belief: null, next: [{ step: STEP }] });
