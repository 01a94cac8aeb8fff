/**
 * Owns what a caller does with workflows: start, wait for the result, look, and (through decisions.ts) signal, confirm,
 * decide, pin. Speaks to the log and the rows; what it writes are inbox events, which the fold judges like any other.
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
  type EffectDefinition,
  type ModelChunk,
  refuseSealed,
  type ShadowDefinition,
  type StartOptions,
} from '../definition/index.ts';
import { shownSecrets, type WorkflowKeys } from '../encryption/index.ts';
import { drawUpFork, type Forked, type ForkOptions, isSameFork } from '../forks/index.ts';
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
  type SignalOptions,
  Starter,
  WorkflowInbox,
} from '../inbox/index.ts';
import { type LamportClock, type Ports, whileUnavailable } from '../kernel/index.ts';
import {
  type Confirmation,
  checkedDuration,
  checkedTags,
  checkedWorkflowId,
  checkName,
  type Decision,
} from '../lease/index.ts';
import { type ShadowOptions, type ShadowRun, Shadows, SystemStreams } from '../shadow/index.ts';
import { Bulk } from './bulk.ts';
import { ClientMemory } from './client-memory.ts';
import { CHILDREN_PAGE_COUNT, SESSION_NAME_MAX_CHARS } from './limits.ts';
import { Queues } from './queues.ts';
import { RESULT_POLL_PERIOD_MS, Run } from './run.ts';
import { Schedules } from './schedules.ts';

export interface ClientOptions {
  readonly ports: Ports;
  readonly lamport: LamportClock;
  readonly partitionsMax?: number | undefined;
  /** Absent: any number of workflows may be live. */
  readonly admission?: Admission | undefined;
  /** Null or absent: recall by words alone. */
  readonly embedder?: Embedder | null | undefined;
  /** Absent: histories are not encrypted. */
  readonly keys?: Pick<WorkflowKeys, 'takePlain'> | undefined;
}

export interface ChildPage {
  /** The child after whose id to begin. */
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
}

export class Client {
  readonly #options: ClientOptions;
  /** Roll-outs of shadow mode, and their comparison. */
  readonly shadows: Shadows;
  /** One thing done to many workflows. */
  readonly bulk: Bulk;
  /** Runs at the times of cron patterns. */
  readonly schedules: Schedules;
  /** Long-term memory, sessions and budgets. */
  readonly memory: ClientMemory;
  /** Whole queues, held and let go. */
  readonly queues: Queues;
  /** What the system itself writes down. */
  readonly system: SystemStreams;
  readonly #starter: Starter;
  readonly #closing = new AbortController();
  readonly #inbox: WorkflowInbox;
  readonly #decisions: Decisions;
  readonly #lifecycle: Lifecycle;
  readonly #approvals: Approvals;
  readonly #judgements: RecordJudgements;

  constructor(options: ClientOptions) {
    this.#options = options;
    const { ports, lamport, partitionsMax, admission } = options;
    this.#starter = new Starter({ ports, lamport, partitionsMax, admission });
    this.#inbox = new WorkflowInbox({ ports, lamport, closing: this.#closing.signal });
    this.#decisions = new Decisions({ ports, inbox: this.#inbox });
    this.#lifecycle = new Lifecycle(this.#inbox);
    this.#judgements = new RecordJudgements(this.#inbox, options.keys);
    this.#approvals = new Approvals(ports, this.#inbox, this.#closing.signal);
    this.shadows = new Shadows(options);
    this.schedules = new Schedules(this, ports);
    this.bulk = new Bulk(this, ports);
    this.system = new SystemStreams(options);
    this.memory = new ClientMemory({
      ports,
      starter: this.#starter,
      decisions: this.#decisions,
      lamport,
      embedder: options.embedder ?? null,
    });
    this.queues = new Queues(ports, this.memory);
  }

  /** A run of an agent that runs elsewhere, to report its steps; does nothing when its id is not in the share. Never waits. */
  shadow(definition: ShadowDefinition, options: ShadowOptions): ShadowRun {
    return this.shadows.shadow(definition, options);
  }

  /** Starts a workflow, or answers the run that has this id. Waits while servers are away; see `Starter.start` for errors. */
  async start<Input, Output>(
    definition: Definition<Input, Output>,
    input: NoInfer<Input>,
    options: StartOptions = {},
  ): Promise<Run<Output>> {
    refuseSealed('input', input);
    const { clock, prng } = this.#options.ports;
    const id = options.id ?? uuidv7(clock.nowMs(), prng.bytes(10));
    const { session, user } = options;
    for (const [field, name] of Object.entries({ session, user }))
      if (name !== undefined) checkName(field, name, SESSION_NAME_MAX_CHARS);
    const tags = checkedTags(options.tags ?? []);
    const timeoutMs = options.timeout === undefined ? undefined : checkedDuration('timeout', options.timeout);
    const workflow = checkedWorkflowId(id, definition.name);
    const tenant = options.tenant ?? DEFAULT_TENANT;
    if (session !== undefined) await this.#refuseOthers(tenant, session, user ?? null);
    const started = await whileUnavailable(clock, this.#closing.signal, () =>
      this.#starter.start({
        definition: definition as Definition,
        input,
        workflow,
        tenant,
        pinned: options.pinned,
        session,
        user,
        tags,
        trace: asTraceParent(options.trace),
        priority: options.priority,
        // A job that ends what floods must not wait for what floods.
        isLimited: !isSystemDefinition(definition.name),
        timeoutMs,
      }),
    );
    return this.run<Output>(started.workflow, started.created);
  }

  /**
   * A new workflow that goes on from a checkpoint of this one, and shares its history up to there. Throws `InvalidError`
   * (`workflow-unknown`, `sequence-unknown`, `fork-nothing-left`, `fork-of-shadow`, `fork-of-undo`, `fork-of-schedule`, `fork-of-system`, `version-unknown`,
   * or what belief and version don't fit), `ConflictError` (`workflow-differs`), `LimitError` (`fork-too-deep`, or the opening is too
   * large), `CorruptError`, `UnavailableError` (`object-archived`: restore the base first).
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

  /** Once its opening can be seen: it is in the log. */
  async #mustBe(request: OpenRequest): Promise<void> {
    const { ports } = this.#options;
    const { signal } = this.#closing;
    while ((await whileUnavailable(ports.clock, signal, () => isSameFork(ports, request))) === undefined) {
      await ports.clock.sleep(RESULT_POLL_PERIOD_MS, signal);
      signal.throwIfAborted();
    }
  }

  /** A session is one user's. */
  async #refuseOthers(tenant: TenantId, session: string, user: string | null): Promise<void> {
    const { clock, store } = this.#options.ports;
    const known = await whileUnavailable(clock, this.#closing.signal, () => store.session(tenant, session, 2));
    // Another process may have opened them, with a clock that ran ahead of this one's: the newest comes after all.
    if (known[0] !== undefined) this.#options.lamport.witness(known[0].lamport);
    const [other] = known.filter((one) => one.user !== user);
    if (other !== undefined) {
      throw new InvalidError(
        'session-of-another',
        `session: ${session} is ${other.user === null ? "nobody's" : "another user's"}: what was said in it is not told to others. Begin another session.`,
        { session },
      );
    }
  }

  /** A run by its id; whether it exists shows when it is asked. */
  run<Output = Json>(id: string, created = false): Run<Output> {
    return new Run<Output>(workflowId(id), created, this.#options.ports, this.#closing.signal);
  }

  /**
   * Answers the question of a parked workflow; resolves once the answer counts. The same answer of the same person may be
   * given again. `effects`: where the effect in question is among them, its schema checks the response. Throws `InvalidError`
   * (names the field; `workflow-unknown`, `resolution-unfit`), `ConflictError` (`not-asked`, `workflow-closed`,
   * `question-differs`, and `already-decided` with who did).
   */
  async decide(workflow: string, decision: Decision, effects: readonly EffectDefinition[] = []): Promise<Decided> {
    refuseSealed('response', decision.response);
    return this.#decisions.decide(workflow, decision, effects);
  }

  /**
   * Says what became of an effect that its receiver accepted under this token; may be repeated. Throws `InvalidError`
   * (`token-unknown`, `workflow-unknown`), `ConflictError` (`already-confirmed` otherwise, `workflow-closed`).
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

  /** Workflows that this one's tasks have started, in order of their ids, which follow from the tasks; page by page. */
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

  /** What people are asked now, the oldest first: of a tenant, of some assignees, page by page. */
  approvals(query: ApprovalQuery = {}): Promise<ApprovalPage> {
    return this.#approvals.list(query);
  }

  /**
   * Answers the approval that a task waits for; resolves once it counts, and may be repeated. Whether that person may is for the caller to
   * know. Throws `InvalidError` (`approval-unfit` with the places in the value;
   * `workflow-unknown`), `ConflictError` (`already-answered` with who did, `not-asked`, `workflow-closed`).
   */
  async approve(workflow: string, task: string, answer: ApprovalAnswer): Promise<{ readonly changed: boolean }> {
    refuseSealed('value', answer.value);
    return this.#approvals.answer(workflow, task, answer);
  }

  /**
   * Asks a workflow to end: no further task starts, steps under way see their signal abort and may finish, then what was done is undone
   * where that is registered. Resolves once it is asked; asked twice, it is done once. Throws `InvalidError` (names the field; `workflow-unknown`, `cancel-of-undo`, `workflow-is-shadow`),
   * `ConflictError` (`workflow-closed`, `workflow-compensating`).
   */
  cancel(workflow: string, ask: LifecycleAsk): Promise<LifecycleDone> {
    return this.#lifecycle.ask(workflow, 'cancel', ask);
  }

  /** Ends a workflow at once, whoever holds it: it has failed (`terminated`), and nothing is undone. Throws as `cancel`. */
  terminate(workflow: string, ask: LifecycleAsk): Promise<LifecycleDone> {
    return this.#lifecycle.ask(workflow, 'terminate', ask);
  }

  /**
   * No further task starts until it is resumed; steps under way finish, and what comes meanwhile is kept. Throws as `cancel`, and
   * `ConflictError` (`workflow-cancelling`).
   */
  pause(workflow: string, ask: LifecycleAsk): Promise<LifecycleDone> {
    return this.#lifecycle.ask(workflow, 'pause', ask);
  }

  /** Ends a pause. Throws as `pause`. */
  resume(workflow: string, ask: LifecycleAsk): Promise<LifecycleDone> {
    return this.#lifecycle.ask(workflow, 'resume', ask);
  }

  /**
   * Decides of the record at which the workflow stands, since it can't be read: `skip` goes on as if it were not there, `take` reads it
   * once more. Resolves when the workflow has gone on. Throws as `signal` does, `ConflictError` (`record-readable`: there is none;
   * `record-unreadable`: it still can't be read), `InvalidError` (`opening-not-skipped`).
   */
  judge(workflow: string, judgement: Judgement, ask: LifecycleAsk): Promise<RecordJudged> {
    return this.#judgements.judge(workflow, judgement, ask);
  }

  /** Keeps a workflow to its version, or lets it go on with newer ones. Throws as `signal` does. */
  pin(workflow: string, pin: Pin): Promise<void> {
    return this.#decisions.pin(workflow, pin);
  }

  /**
   * Takes the live lease from its holder, so that another goes on; null when nobody had one (any more). The holder, if it
   * lives, can do nothing more that counts. Throws as `signal` does.
   */
  revoke(workflow: string): Promise<Lease | null> {
    return this.#decisions.revoke(workflow);
  }

  /**
   * What the workflow's history says, such as a checkpoint's belief, with secret fields as this process may see them: with the use of
   * their key as they are, else masked. Throws as the key's provider does.
   */
  reveal(workflow: string, value: Json): Promise<Json> {
    const { ports } = this.#options;
    return whileUnavailable(ports.clock, this.#closing.signal, () => shownSecrets(value, ports, workflowId(workflow)));
  }

  /**
   * Tells what models answer in the workflow's steps, as it comes and where a call is streamed; nothing that came before. Returns what ends it.
   * Throws `ConfigError` (`watch-unavailable`) where nobody can watch.
   */
  watch(workflow: string, listener: (inbox: ModelChunk) => void): Promise<() => Promise<void>> {
    const { watch } = this.#options.ports;
    if (watch === undefined) throw new ConfigError('watch-unavailable', 'These ports have nothing to watch through.');
    return watch.subscribe(workflowId(workflow), (message) => listener(JSON.parse(message) as ModelChunk));
  }

  /** Ends all waiting. */
  close(): void {
    this.shadows.close();
    this.#closing.abort(new TidemarkError('client-closed', 'The client was closed.'));
    void this.#inbox.close();
  }
}

/** https://www.w3.org/TR/trace-context/#traceparent-header: version 00 has four fields; a later one may have more, which are not kept. */
function asTraceParent(text: string | undefined): string | undefined {
  const [, parent, version, trace, span, more] =
    /^(([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2})(-.*)?$/.exec(text ?? '') ?? [];
  const isForm = version !== 'ff' && (version !== '00' || more === undefined);
  const isNone = !isForm || !/[1-9a-f]/.test(trace ?? '') || !/[1-9a-f]/.test(span ?? '');
  return isNone ? undefined : parent;
}
