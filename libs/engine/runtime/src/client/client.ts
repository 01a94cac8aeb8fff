/**
 * Owns a caller's requests about workflows: start, wait for the result, read, and (through decisions.ts) signal, confirm, decide, pin. It
 * uses the log and the rows; what it writes are inbox events, which the fold judges like any other.
 */

import {
  ConfigError,
  DEFAULT_TENANT,
  InvalidError,
  isSystemDefinition,
  type Json,
  type Lease,
  type TenantId,
  TidemarkError,
  uuidv7,
  workflowId,
} from '@tidemark/core';
import type { Embedder } from '@tidemark/memory';
import type { ApprovalQuery, WorkflowListing } from '@tidemark/ports';
import {
  type Definition,
  type DerivedStart,
  type EffectDefinition,
  type ModelChunk,
  refuseSealed,
  type ShadowDefinition,
  START_OPTIONS,
  type StartOptions,
} from '../definition/index.ts';
import { shownSecrets, type WorkflowKeys } from '../encryption/index.ts';
import {
  drawUpFork,
  type Forked,
  type ForkOptions,
  isSameFork,
  type ResetDone,
  type ResetOptions,
  Resets,
} from '../forks/index.ts';
import { RowChanges } from '../history/index.ts';
import {
  type Admission,
  type ApprovalAnswer,
  type ApprovalPage,
  Approvals,
  type Decided,
  Decisions,
  type Judgement,
  Lifecycle,
  type LifecycleAsk,
  type LifecycleDone,
  type OpenRequest,
  type Pin,
  type RecordJudged,
  RecordJudgements,
  type SignalChange,
  type SignalOptions,
  Starter,
  WorkflowInbox,
} from '../inbox/index.ts';
import { type LamportClock, type Ports, refuseUnknownOptions, whileUnavailable } from '../kernel/index.ts';
import {
  type Confirmation,
  checkedDerivedId,
  checkedDuration,
  checkedTags,
  checkedWorkflowId,
  checkName,
  type Decision,
} from '../lease/index.ts';
import { RecordedStreams, type ShadowOptions, type ShadowRoute, type ShadowRun, Shadows } from '../shadow/index.ts';
import { Bulk } from './bulk.ts';
import { ClientMemory } from './client-memory.ts';
import { Queues } from './queues.ts';
import { Registrations } from './registrations.ts';
import { RESULT_POLL_PERIOD_MS, Run, type RunDependencies } from './run.ts';
import { Schedules } from './schedules.ts';

/** Longest name of a session or user, in characters: with its prefix, it is the subject of memories. */
const SESSION_NAME_MAX_CHARS = 240;
/** Most children in one page. */
const CHILDREN_PAGE_COUNT = 1_000;

export interface ClientOptions {
  readonly ports: Ports;
  readonly lamport: LamportClock;
  readonly partitionsMax?: number | undefined;
  /** Absent: the number of live workflows is not limited. */
  readonly admission?: Admission | undefined;
  /** Null or absent: recall compares words alone. */
  readonly embedder?: Embedder | null | undefined;
  /** Absent: histories are not encrypted. */
  readonly keys?: Pick<WorkflowKeys, 'takePlain'> | undefined;
}

export interface ChildPage {
  /** The page begins after this child. */
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
}

export class Client {
  readonly #options: ClientOptions;
  /** Roll-outs of shadow mode, and comparisons with them. */
  readonly shadows: Shadows;
  /** Acts on many workflows at once. */
  readonly bulk: Bulk;
  /** Runs at the times of cron patterns. */
  readonly schedules: Schedules;
  /** Long-term memory, sessions and budgets. */
  readonly memory: ClientMemory;
  /** Pauses and resumes whole queues. */
  readonly queues: Queues;
  /** Definitions that workers have registered, for processes without their code. */
  readonly registrations: Registrations;
  /** Streams that this process itself writes. */
  readonly recorded: RecordedStreams;
  readonly #starter: Starter;
  readonly #closing = new AbortController();
  readonly #ofRuns: RunDependencies;
  readonly #inbox: WorkflowInbox;
  readonly #decisions: Decisions;
  readonly #lifecycle: Lifecycle;
  readonly #resets: Resets;
  readonly #approvals: Approvals;
  readonly #judgements: RecordJudgements;

  constructor(options: ClientOptions) {
    this.#options = options;
    const { ports, lamport, partitionsMax, admission } = options;
    this.#ofRuns = { ports, changes: new RowChanges(ports.hints), closing: this.#closing.signal };
    this.#starter = new Starter({ ports, lamport, partitionsMax, admission });
    this.#inbox = new WorkflowInbox({ ports, lamport, closing: this.#closing.signal });
    this.#decisions = new Decisions({ ports, inbox: this.#inbox });
    this.#lifecycle = new Lifecycle(this.#inbox);
    this.#resets = new Resets({ ports, lamport, inbox: this.#inbox, starter: this.#starter });
    this.#judgements = new RecordJudgements(this.#inbox, options.keys);
    this.#approvals = new Approvals(ports, this.#inbox, this.#closing.signal);
    this.shadows = new Shadows(options);
    this.schedules = new Schedules(this, ports);
    this.bulk = new Bulk(this, ports);
    this.recorded = new RecordedStreams(options);
    this.memory = new ClientMemory({
      ports,
      starter: this.#starter,
      decisions: this.#decisions,
      lamport,
      embedder: options.embedder ?? null,
    });
    this.queues = new Queues(ports, this.memory);
    this.registrations = new Registrations(ports, this.memory);
  }

  /** A handle by which an agent that runs elsewhere reports its steps; it does nothing when its id is not in the share. Never waits. */
  shadow(definition: ShadowDefinition, options: ShadowOptions): ShadowRun {
    return this.shadows.shadow(definition, options);
  }

  /** Who runs the workflow of this id: its agent, unobserved or observed, or Tidemark (`start` it then); see `Shadows.route`. */
  route(definition: Pick<ShadowDefinition, 'name'>, options: Pick<ShadowOptions, 'id'>): Promise<ShadowRoute> {
    return this.shadows.route(definition, options);
  }

  /** Starts a workflow, or returns the run that has this id. Waits while servers are unavailable; see `Starter.start` for errors, and `option-unknown`. */
  async start<Input, Output>(
    definition: Definition<Input, Output>,
    input: NoInfer<Input>,
    options: StartOptions = {},
  ): Promise<Run<Output>> {
    refuseUnknownOptions('start', options, START_OPTIONS);
    definition.refuseUnknown?.(input);
    const { clock, prng } = this.#options.ports;
    const id = options.id ?? uuidv7(clock.nowMs(), prng.bytes(10));
    const run = await this.#begin(definition as Definition, input, checkedStart({ ...options, id }), options);
    return run as Run<Output>;
  }

  /** The same for what the system starts by itself, under an id that it has derived. */
  async startDerived(definition: Definition, input: unknown, options: DerivedStart): Promise<Run> {
    const checked = { ...checkedOptions(options), workflow: checkedDerivedId(options.id) };
    return this.#begin(definition, input, checked, options);
  }

  async #begin(
    definition: Definition,
    input: unknown,
    { workflow, tags, timeoutMs }: ReturnType<typeof checkedStart>,
    options: StartOptions & Pick<DerivedStart, 'day'>,
  ): Promise<Run> {
    refuseSealed('input', input);
    const { clock } = this.#options.ports;
    const { session, user } = options;
    const tenant = options.tenant ?? DEFAULT_TENANT;
    if (session !== undefined) await this.#refuseOthers(tenant, session, user ?? null);
    const started = await whileUnavailable(clock, this.#closing.signal, () =>
      this.#starter.start({
        definition,
        input,
        workflow,
        tenant,
        pinned: options.pinned,
        session,
        user,
        tags,
        trace: asTraceParent(options.trace),
        priority: options.priority,
        day: options.day,
        // A job that ends a flood of workflows must not wait for them.
        isLimited: !isSystemDefinition(definition.name),
        timeoutMs,
      }),
    );
    return new Run(started.workflow, this.#ofRuns, started);
  }

  /**
   * Starts a new workflow from a checkpoint of this one, which shares its history up to there. Throws `InvalidError` (`workflow-unknown`,
   * `sequence-unknown`, `fork-nothing-left`, `fork-of-shadow`, `fork-of-undo`, `fork-of-schedule`, `fork-of-system`, `version-unknown`, or
   * what belief and version don't fit), `ConflictError` (`workflow-differs`), `LimitError` (`fork-too-deep`, or the opening is too large),
   * `CorruptError`, `UnavailableError` (`object-archived`: restore the base first).
   */
  async fork(workflow: string, options: ForkOptions): Promise<Forked> {
    refuseSealed('belief', options.belief);
    const { ports } = this.#options;
    const { request, forked } = await drawUpFork(this.#options, workflowId(workflow), options);
    const started = await whileUnavailable(ports.clock, this.#closing.signal, () =>
      this.#starter.open({ ...request, isLimited: true }),
    );
    if (!started.created) await this.#mustBe(request);
    return { ...forked, created: started.created };
  }

  /**
   * Ends the history of the run that answers for this id now, and begins another at one of its checkpoints, which answers for the id from then
   * on. What was done after the checkpoint is kept, undone or asked about, as the caller says. Resolves once the new run is placed. Throws
   * what `fork` throws, `InvalidError` (`step-unknown`, `effect-unknown`, `reset-of-replay`, `reset-of-kept`, `reset-of-compensated`),
   * `ConflictError` (`workflow-reset`: somebody else did, and is named; `effect-open`, `workflow-compensating`, `workflow-cancelling`).
   */
  async reset(
    workflow: string,
    options: Omit<ResetOptions, 'id'> & Partial<Pick<ResetOptions, 'id'>>,
  ): Promise<ResetDone> {
    refuseSealed('belief', options.belief);
    refuseSealed('input', options.input);
    const { clock } = this.#options.ports;
    const request = { id: this.#inbox.uuid(), ...options };
    return whileUnavailable(clock, this.#closing.signal, () => this.#resets.reset(workflow, request));
  }

  /** Checks that an existing workflow of this id is the same fork. Its opening is in the log, and the check waits until rows show it. */
  async #mustBe(request: OpenRequest): Promise<void> {
    const { ports } = this.#options;
    const { signal } = this.#closing;
    while ((await whileUnavailable(ports.clock, signal, () => isSameFork(ports, request))) === undefined) {
      await ports.clock.sleep(RESULT_POLL_PERIOD_MS, signal);
      signal.throwIfAborted();
    }
  }

  /** A session belongs to one user. */
  async #refuseOthers(tenant: TenantId, session: string, user: string | null): Promise<void> {
    const { clock, store } = this.#options.ports;
    const known = await whileUnavailable(clock, this.#closing.signal, () => store.session(tenant, session, 2));
    // Another process may have opened them with a Lamport clock ahead of this one's: what follows must come after all of them.
    if (known[0] !== undefined) this.#options.lamport.witness(known[0].lamport);
    const [other] = known.filter((one) => one.user !== user);
    if (other !== undefined) {
      throw new InvalidError(
        'session-of-another',
        `session: ${session} is ${other.user === null ? "nobody's" : "another user's"}: what was said in it is not shown to others. Begin another session.`,
        { session },
      );
    }
  }

  /** A handle on a run by its id. A read of it shows whether it exists. */
  run<Output = Json>(id: string): Run<Output> {
    return new Run<Output>(workflowId(id), this.#ofRuns);
  }

  /**
   * Answers the question of a parked workflow; resolves once the answer counts. The same person may repeat the same answer. If `effects`
   * has the effect in question, its schema checks the response. Throws `InvalidError` (names the field; `workflow-unknown`,
   * `resolution-unfit`), `ConflictError` (`not-asked`, `workflow-closed`, `question-differs`, and `already-decided`, which says who
   * decided).
   */
  async decide(workflow: string, decision: Decision, effects: readonly EffectDefinition[] = []): Promise<Decided> {
    refuseSealed('response', decision.response);
    return this.#decisions.decide(workflow, decision, effects);
  }

  /**
   * Reports the outcome of an effect that its receiver accepted under this token; may be repeated. Throws `InvalidError` (`token-unknown`,
   * `workflow-unknown`), `ConflictError` (`already-confirmed` with another outcome, `workflow-closed`).
   */
  async confirm(
    workflow: string,
    token: string,
    confirmation: Confirmation,
    effects: readonly EffectDefinition[] = [],
  ): Promise<void> {
    if ('response' in confirmation) refuseSealed('response', confirmation.response);
    return this.#decisions.confirm(workflow, token, confirmation, effects);
  }

  /**
   * Sends a signal; resolves once the workflow has it. Throws `InvalidError` (names the field; with `definitions` also `signal-unknown`,
   * `signal-unfit`, `signal-reserved`), `ConflictError` (`workflow-closed`), `LimitError` (`signals-full`).
   */
  async signal(workflow: string, name: string, value: unknown = null, options: SignalOptions = {}): Promise<void> {
    refuseSealed('value', value);
    return this.#decisions.signal(workflow, name, value, options);
  }

  /**
   * Gives an unread signal another value, in its place; may be repeated. Throws what `signal` throws, and `ConflictError` (`signal-read`): a step
   * has read it, or may be reading it.
   */
  async amendSignal(
    workflow: string,
    event: string,
    value: unknown,
    change: SignalChange,
  ): Promise<{ changed: boolean }> {
    refuseSealed('value', value);
    return this.#decisions.changeSignal(workflow, event, { ...change, value });
  }

  /** No step ever gets this unread signal; a task for which it came waits again. Throws what `amendSignal` throws. */
  async discardSignal(workflow: string, event: string, ask: LifecycleAsk): Promise<{ changed: boolean }> {
    return this.#decisions.changeSignal(workflow, event, { by: ask.by, why: ask.why });
  }

  /** Workflows that this one's tasks have started, page by page in the order of their ids, which derive from the tasks. */
  children(
    workflow: string,
    { after, limit = CHILDREN_PAGE_COUNT }: ChildPage = {},
  ): Promise<readonly WorkflowListing[]> {
    const { store, clock } = this.#options.ports;
    const query = {
      parent: workflowId(workflow),
      after: after === undefined ? undefined : workflowId(after),
      limit: Math.min(limit, CHILDREN_PAGE_COUNT),
    };
    return whileUnavailable(clock, this.#closing.signal, () => store.children(query));
  }

  /** Open approvals, oldest first: of a tenant, of some assignees, page by page. */
  approvals(query: ApprovalQuery = {}): Promise<ApprovalPage> {
    return this.#approvals.list(query);
  }

  /**
   * Answers the approval that a task waits for; resolves once the answer counts, and may be repeated. The caller checks whether the person
   * may answer. Throws `InvalidError` (`approval-unfit` with the places in the value; `workflow-unknown`), `ConflictError`
   * (`already-answered`, which says who answered; `not-asked`, `workflow-closed`).
   */
  async approve(workflow: string, task: string, answer: ApprovalAnswer): Promise<{ readonly changed: boolean }> {
    refuseSealed('value', answer.value);
    return this.#approvals.answer(workflow, task, answer);
  }

  /**
   * Requests a workflow's cancellation: no further task starts, running steps see their signal abort and may finish, and then registered
   * compensations undo what was done. Resolves once the request is recorded; a repeated request has no further effect. Throws
   * `InvalidError` (names the field; `workflow-unknown`, `cancel-of-undo`, `workflow-is-shadow`), `ConflictError` (`workflow-closed`,
   * `workflow-compensating`).
   */
  cancel(workflow: string, ask: LifecycleAsk): Promise<LifecycleDone> {
    return this.#lifecycle.ask(workflow, 'cancel', ask);
  }

  /** Ends a workflow at once, also one that is leased: it has failed (`terminated`), and nothing is compensated. Throws what `cancel` throws. */
  terminate(workflow: string, ask: LifecycleAsk): Promise<LifecycleDone> {
    return this.#lifecycle.ask(workflow, 'terminate', ask);
  }

  /**
   * Starts no further task until the workflow is resumed; running steps finish, and what arrives meanwhile is kept. Throws what `cancel`
   * throws, and `ConflictError` (`workflow-cancelling`).
   */
  pause(workflow: string, ask: LifecycleAsk): Promise<LifecycleDone> {
    return this.#lifecycle.ask(workflow, 'pause', ask);
  }

  /** Ends a pause. Throws what `pause` throws. */
  resume(workflow: string, ask: LifecycleAsk): Promise<LifecycleDone> {
    return this.#lifecycle.ask(workflow, 'resume', ask);
  }

  /**
   * Judges the unreadable record at which the workflow stopped: `skip` continues without it, `take` reads it again. Resolves once the
   * workflow has resumed. Throws what `signal` throws, `ConflictError` (`record-readable`: there is none; `record-unreadable`: it still
   * can't be read), `InvalidError` (`opening-not-skipped`).
   */
  judge(workflow: string, judgement: Judgement, ask: LifecycleAsk): Promise<RecordJudged> {
    return this.#judgements.judge(workflow, judgement, ask);
  }

  /** Pins a workflow to its version, or lets newer versions run it again. Throws what `signal` throws. */
  pin(workflow: string, pin: Pin): Promise<void> {
    return this.#decisions.pin(workflow, pin);
  }

  /**
   * Revokes the live lease, so that another worker claims the workflow; null when it was not leased (any more). Nothing that the former
   * holder does afterwards counts. Throws what `signal` throws.
   */
  revoke(workflow: string): Promise<Lease | null> {
    return this.#decisions.revoke(workflow);
  }

  /**
   * A value from the workflow's history, such as a checkpoint's belief, with secret fields as this process may see them: in clear if it may
   * use their key, else masked. Throws what the key's provider throws.
   */
  reveal(workflow: string, value: Json): Promise<Json> {
    const { ports } = this.#options;
    return whileUnavailable(ports.clock, this.#closing.signal, () => shownSecrets(value, ports, workflowId(workflow)));
  }

  /**
   * Passes on what models answer in the workflow's steps as it arrives, for streamed calls; nothing that came before. Returns a function
   * that stops it. Throws `ConfigError` (`watch-unavailable`) where the ports can't watch.
   */
  watch(workflow: string, listener: (chunk: ModelChunk) => void): Promise<() => Promise<void>> {
    const { watch } = this.#options.ports;
    if (watch === undefined)
      throw new ConfigError(
        'watch-unavailable',
        'This client was opened without a feed of changes (watch): it can only be asked. Open it with one.',
      );
    return watch.subscribe(workflowId(workflow), (message) => listener(JSON.parse(message) as ModelChunk));
  }

  /** Ends all waiting. */
  close(): void {
    this.shadows.close();
    this.#closing.abort(new TidemarkError('client-closed', 'The client was closed.'));
    void this.#inbox.close();
    void this.#ofRuns.changes.close();
  }
}

/** What the options of a start name. Throws `InvalidError` that names the option. */
export function checkedStart({ id, ...options }: CheckedOptions & { readonly id: string }) {
  return { ...checkedOptions(options), workflow: checkedWorkflowId(id) };
}

type CheckedOptions = Pick<StartOptions, 'session' | 'user' | 'tags' | 'timeout'>;

function checkedOptions({ session, user, tags = [], timeout }: CheckedOptions) {
  for (const [field, name] of Object.entries({ session, user }))
    if (name !== undefined) checkName(field, name, SESSION_NAME_MAX_CHARS);
  return {
    tags: checkedTags(tags),
    timeoutMs: timeout === undefined ? undefined : checkedDuration('timeout', timeout),
  };
}

/** https://www.w3.org/TR/trace-context/#traceparent-header: version 00 has four fields; a later one may have more, which are dropped. */
function asTraceParent(text: string | undefined): string | undefined {
  const [, parent, version, trace, span, more] =
    /^(([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2})(-.*)?$/.exec(text ?? '') ?? [];
  const isForm = version !== 'ff' && (version !== '00' || more === undefined);
  const isNone = !isForm || !/[1-9a-f]/.test(trace ?? '') || !/[1-9a-f]/.test(span ?? '');
  return isNone ? undefined : parent;
}
