/**
 * Owns streams of the system that one process writes and then closes. Each write is kept as the output of a checkpoint, so the streams are
 * archived and read like any history, and no worker claims them. Their definitions begin with `tidemark.`. It does not know what is
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
  /** It is opened only while none of these ever was. */
  readonly unless?: readonly WorkflowId[];
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

  /** Opens a new stream, or one that another process has left open. Waits while servers are unavailable, until `signal` aborts. */
  async open(name: SystemStreamName, signal: AbortSignal): Promise<SystemStream> {
    const { ports, lamport } = this.#options;
    const { definition, workflow, tenant, unless } = name;
    return whileUnavailable(ports.clock, signal, async () => {
      const opened = { definition: definitionOf(definition), input: null, workflow, tenant, unless };
      await this.#starter.start({ ...opened, shadow: true });
      const stream = await ReportedStream.load(workflow, { ports, lamport, holder: this.#holder });
      if (stream !== undefined) return new SystemStream(definition, stream);
      throw new UnavailableError('rows-behind', `The rows don't know the stream ${workflow} yet.`);
    });
  }
}

/** Must be dropped after any failure: the failed write may be in the log, and is repeated in another stream. */
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

  /** Writes made to it before. */
  get writeCount(): number {
    return this.#stream.state.head.sequence;
  }

  /**
   * Resolves once the log has accepted it. `what` describes the write in words, in clear in rows and log. Throws what
   * `ReportedStream.write` throws.
   */
  async write(output: Json, what: string): Promise<void> {
    await this.#commit({ output, next: [{ step: STEP, input: null }], lastAction: what });
  }

  /** Ends the stream. Harmless when repeated. */
  async close(): Promise<void> {
    if (!this.isClosed) await this.#commit({ done: null, lastAction: 'closed' });
  }

  async #commit(result: StepResult): Promise<void> {
    await this.#stream.write((add) => add(this.#stream.draftsOf(definitionOf(this.#definition), STEP, result)!));
  }
}

const definitionOf = (name: string): ReturnType<typeof definitionOfShadow> =>
  definitionOfShadow({ name, version: 1 }, [STEP], false, { input: null, belief: null, next: [{ step: STEP }] });
