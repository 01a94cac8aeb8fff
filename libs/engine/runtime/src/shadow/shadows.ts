/**
 * Owns shadow mode in one reporting process: who runs which workflow, which runs are observed, and those runs. It reads the share from the
 * roll-out's stream and caches it for a while, so that no run waits for it.
 */

import { toJson } from '@tidemark/codec';
import {
  ConflictError,
  DEFAULT_TENANT,
  FencedError,
  type HolderId,
  holderId,
  InvalidError,
  streamFromJson,
  type TenantId,
  UnavailableError,
  uuidv7,
  type WorkflowId,
} from '@tidemark/core';
import type { ShadowDefinition, ShadowTask } from '../definition/index.ts';
import { claimOf, Starter } from '../inbox/index.ts';
import type { LamportClock, Ports } from '../kernel/index.ts';
import { checkedWorkflowId } from '../lease/index.ts';
import { RecordedStreams } from './recorded-stream.ts';
import { accountOf, type PromoteOptions, promote, type ShadowAccount, type ShadowPromotion } from './shadow-account.ts';
import { Rollouts, type ShadowRollout } from './shadow-rollout.ts';
import { type ShadowRoom, ShadowRun } from './shadow-run.ts';
import type { ShadowRoute } from './shadow-share.ts';
import { ShadowWriter } from './shadow-writer.ts';
import { isInShare } from './share-members.ts';

/** Most bytes of waiting reports in one process. */
const SHADOW_BUFFER_MAX_BYTES = 33_554_432;
/** How long a process uses the share that it read, in milliseconds. */
const SHADOW_SHARE_TTL_MS = 5_000;
/** Definition of the streams that record what agents began. */
const CLAIM_DEFINITION = 'tidemark.claim';

export interface ShadowOptions {
  /** The agent's own id of the run: the same in every process that reports on it. */
  readonly id: string;
  readonly input?: unknown;
  /** Belief and tasks that it begins with; absent: from the definition's `begin`, or none. */
  readonly belief?: unknown;
  readonly next?: readonly ShadowTask[] | undefined;
  readonly tenant?: TenantId | undefined;
  /** Receives every lost report, and every failed attempt to write. */
  readonly onProblem?: ((error: unknown) => void) | undefined;
}

export interface ShadowsOptions {
  readonly ports: Ports;
  readonly lamport: LamportClock;
  readonly partitionsMax?: number | undefined;
}

type Shares = Pick<ShadowRollout, 'share' | 'active'>;

export class Shadows {
  readonly #options: ShadowsOptions;
  readonly #starter: Starter;
  /** This incarnation's name; never reused. */
  readonly #holder: HolderId;
  readonly #rollouts: Rollouts;
  readonly #streams: RecordedStreams;
  readonly #shares = new Map<string, Shares & { readonly untilMs: number }>();
  readonly #asked = new Map<string, Promise<Shares>>();
  readonly #room: ShadowRoom = { freeBytes: SHADOW_BUFFER_MAX_BYTES };
  readonly #stopping = new AbortController();

  constructor(options: ShadowsOptions) {
    this.#options = options;
    const { ports, lamport, partitionsMax } = options;
    this.#starter = new Starter({ ports, lamport, partitionsMax });
    this.#holder = holderId(`shadow-${uuidv7(ports.clock.nowMs(), ports.prng.bytes(10))}`);
    this.#streams = new RecordedStreams(options);
    this.#rollouts = new Rollouts(ports, this.#streams);
  }

  /**
   * A run to report on. It is available at once, and does nothing when its id is not in the share. Throws `InvalidError` for an id or a
   * beginning that can't be stored, which is a mistake of the calling code and not a server's failure.
   */
  shadow(definition: ShadowDefinition, options: ShadowOptions): ShadowRun {
    const { ports, lamport } = this.#options;
    const workflow = checkedWorkflowId(options.id);
    if (definition.hasSecrets === true) throw secretsUnseen(definition.name);
    const writer = new ShadowWriter({
      ports,
      lamport,
      starter: this.#starter,
      holder: this.#holder,
      definition,
      workflow,
      tenant: options.tenant ?? DEFAULT_TENANT,
      opening: {
        // The agent may change its objects later.
        input: structuredClone(toJson(options.input ?? null, 'input')),
        belief: options.belief === undefined ? undefined : structuredClone(toJson(options.belief, 'belief')),
        next: structuredClone(options.next),
      },
    });
    return new ShadowRun({
      workflow,
      clock: ports.clock,
      decide: () => this.#isObserved(definition.name, workflow),
      writer,
      room: this.#room,
      onProblem: options.onProblem,
      stop: this.#stopping.signal,
    });
  }

  /** Reads more than the shares only where Tidemark may run it. */
  async #isObserved(definition: string, workflow: WorkflowId): Promise<boolean> {
    const { digest } = this.#options.ports;
    const { share, active } = await this.#sharesOf(definition);
    if (!isInShare(workflow, share, digest)) return false;
    if (!isInShare(workflow, active, digest)) return true;
    return ((await this.#recorded(definition, workflow)) ?? 'tidemark') !== 'tidemark';
  }

  async #sharesOf(definition: string): Promise<Shares> {
    const { clock } = this.#options.ports;
    const known = this.#shares.get(definition);
    if (known !== undefined && clock.monotonicMs() < known.untilMs) return known;
    const asking = this.#asked.get(definition) ?? this.#ask(definition);
    this.#asked.set(definition, asking);
    return asking;
  }

  async #ask(definition: string): Promise<Shares> {
    try {
      const { share = 0, active = 0 } = (await this.#rollouts.read(definition)) ?? {};
      const shares = { share, active, untilMs: this.#options.ports.clock.monotonicMs() + SHADOW_SHARE_TTL_MS };
      this.#shares.set(definition, shares);
      return shares;
    } finally {
      this.#asked.delete(definition);
    }
  }

  /**
   * Who runs the workflow of this id. Ask before it begins. Whatever is answered stays, whatever the shares become: it is in the log before
   * it is given, as a claim, and of the claims of agent and Tidemark on one id only the first is placed. So stays what has begun here.
   * Throws `UnavailableError` (`rows-behind`: it began a moment ago, or rows don't show the claim in time).
   */
  async route({ name }: Pick<ShadowDefinition, 'name'>, { id }: Pick<ShadowOptions, 'id'>): Promise<ShadowRoute> {
    const { digest } = this.#options.ports;
    const workflow = checkedWorkflowId(id);
    const { share = 0, active = 0 } = (await this.#rollouts.read(name)) ?? {};
    const wanted = isInShare(workflow, active, digest) ? 'tidemark' : 'agent';
    const route = (await this.#recorded(name, workflow)) ?? (await this.#claim(name, workflow, wanted));
    return route === 'agent' && isInShare(workflow, share, digest) ? 'observed' : route;
  }

  /** Who runs it by its run, or by a claim that the log has; undefined: nobody yet. */
  async #recorded(definition: string, workflow: WorkflowId): Promise<ShadowRoute | undefined> {
    const { store, digest } = this.#options.ports;
    const [stream] = await store.loadStreams([workflow], { payloads: false });
    if (stream !== undefined) return streamFromJson(stream.state, stream.tasks).shadow ? 'observed' : 'tidemark';
    if ((await store.placed(workflow))?.appended === false) throw beganNow(workflow);
    for (const runner of ['agent', 'tidemark'] as const) {
      if ((await store.placed(claimOf(runner, { definition, workflow }, digest)))?.appended) return runner;
    }
    return undefined;
  }

  /** Records who runs it, in a stream that is closed at once, unless another is recorded: that one is the answer. */
  async #claim(definition: string, workflow: WorkflowId, runner: 'agent' | 'tidemark'): Promise<ShadowRoute> {
    const other = runner === 'agent' ? 'tidemark' : 'agent';
    const { digest } = this.#options.ports;
    const run = { definition, workflow };
    const against = claimOf(other, run, digest);
    const claim = {
      definition: CLAIM_DEFINITION,
      workflow: claimOf(runner, run, digest),
      tenant: DEFAULT_TENANT,
      unless: [against, workflow],
    };
    try {
      const stream = await this.#streams.open(claim);
      // Its opening is the record. Another call that took the stream meanwhile asked for the same, and closes it.
      await stream.close().catch((error: unknown) => {
        if (!(error instanceof FencedError)) throw error;
      });
      return runner;
    } catch (error) {
      if (!(error instanceof ConflictError) || error.code !== 'workflow-claimed') throw error;
      if (error.details.takenBy === against) return this.#claim(definition, workflow, other);
      const begun = await this.#recorded(definition, workflow);
      if (begun === undefined) throw beganNow(workflow);
      return begun;
    }
  }

  /** The definition's roll-out, by the log; undefined when it was never begun. */
  async rollout(definition: string): Promise<ShadowRollout | undefined> {
    return (await this.#rollouts.readExactly(definition)).state;
  }

  /** Rebuilds the runs that were opened since the share was set, and compares them with their agents' reports. */
  async account(definition: string): Promise<ShadowAccount> {
    return accountOf(this.#options.ports, definition, await this.rollout(definition));
  }

  /** Sets the share if that is allowed. Throws `ConflictError` (`rollout-changed`) when somebody else changed it meanwhile. */
  async promote(definition: string, options: PromoteOptions): Promise<ShadowPromotion> {
    const promotion = await promote(this.#options.ports, this.#rollouts, definition, options);
    this.#shares.delete(definition);
    return promotion;
  }

  /** Writes nothing more; waiting reports are lost. */
  close(): void {
    this.#stopping.abort(new InvalidError('client-closed', 'The client was closed.'));
  }
}

const beganNow = (workflow: WorkflowId): UnavailableError =>
  new UnavailableError('rows-behind', `${workflow} began a moment ago, and rows don't show it yet: ask again.`);

const secretsUnseen = (name: string): InvalidError =>
  new InvalidError(
    'secrets-in-shadow',
    `${name} marks fields as secret, and what an agent reports is stored as it is reported. Give shadow() a definition of its own without those fields.`,
    { definition: name },
  );
