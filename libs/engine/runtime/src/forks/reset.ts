/**
 * Owns the reset of a workflow: its history ends, superseded by a run that begins at one of its checkpoints and answers for its id from then
 * on. A live history is ended by an event, which arbitrates with its holder; of one that has ended, the unique id of the next run decides who
 * was first. It runs and undoes nothing itself.
 */

import { decodePayload, type NextOpening, type ResetOrigin } from '@tidemark/codec';
import {
  ConflictError,
  type Controls,
  continuationId,
  type EffectKey,
  eventId,
  type Fork,
  InvalidError,
  isClosed,
  type Json,
  LimitError,
  mayStillAct,
  NO_SPEND,
  type Parent,
  type Sequence,
  SIGNALS_MAX,
  SIGNALS_MAX_BYTES,
  type StreamState,
  taskId,
  UNDO_SUFFIX,
  undoId,
  type WorkflowId,
} from '@tidemark/core';
import type { WorkflowSummary } from '@tidemark/ports';
import { definitionFor, type PastWorkflow, placeOf, supersedes, workflowAt } from '../history/index.ts';
import type { Starter, WorkflowInbox } from '../inbox/index.ts';
import { guardOf } from '../kernel/index.ts';
import { checkName, checkText } from '../lease/index.ts';
import { drawUpOpening, type Opening } from '../run/index.ts';
import { nextRequest, openingOfReset } from '../sagas/index.ts';
import {
  admitted,
  checkBase,
  checkedSequence,
  drawUpContent,
  type ForkDependencies,
  type ForkOptions,
  inFork,
} from './fork.ts';
import type { GivenContent } from './fork-content.ts';
import { DISCARDED_MAX_COUNT } from './limits.ts';
import { isLater, type ResetEffects, type ResetPlan, resetPlan } from './reset-plan.ts';

export interface ResetOptions extends GivenContent, Pick<ForkOptions, 'admit' | 'by'> {
  /** The same request has the same id, and resets once. */
  readonly id: string;
  readonly why: string;
  /**
   * The checkpoint after which it begins again, in the run that answers for the id now; `last`: its newest one. Absent: the one before `before`, or
   * before the step that made the call which is discarded.
   */
  readonly at?: number | 'last' | undefined;
  /** The checkpoint before the first of this step. */
  readonly before?: string | undefined;
  readonly effects: ResetEffects;
  /** Keys of recorded outcomes that were wrong: these calls are made again. */
  readonly discard?: readonly string[] | undefined;
  /** They are made again under the keys that they had; absent: under new ones. */
  readonly sameKeys?: boolean | undefined;
  /** Only this very run is meant: not one that continues or supersedes it. */
  readonly isExact?: boolean | undefined;
  /** Only says what it would do. */
  readonly dryRun?: boolean | undefined;
}

export interface ResetDone extends ResetPlan {
  /** The run that is superseded, and the one that supersedes it. */
  readonly workflow: WorkflowId;
  readonly run: WorkflowId;
  readonly at: Sequence;
  readonly effects: Fork['effects'];
  /** False: it was made before, or is only planned. */
  readonly created: boolean;
  /** The undo after whose end it begins; null: it begins at once. */
  readonly undo: WorkflowId | null;
}

const NOTHING_PLANNED: ResetPlan = { calls: [], callCount: 0, children: [] };

export interface ResetDependencies extends ForkDependencies {
  readonly inbox: WorkflowInbox;
  readonly starter: Pick<Starter, 'open' | 'checkFits'>;
}

/** A reset before it is written. */
interface Drawn {
  readonly row: WorkflowSummary;
  readonly state: StreamState;
  readonly next: NextOpening;
  /** The first of the next run, if nothing comes meanwhile. */
  readonly opening: Omit<Opening, 'lamport'>;
  readonly done: ResetDone;
}

export class Resets {
  readonly #dependencies: ResetDependencies;

  constructor(dependencies: ResetDependencies) {
    this.#dependencies = dependencies;
  }

  /** See `Client.reset`. */
  async reset(id: string, options: ResetOptions): Promise<ResetDone> {
    checkName('by', options.by);
    checkName('id', options.id);
    checkText('why', options.why);
    const { inbox } = this.#dependencies;
    const { row, state } = await inbox.find(id);
    const made = await this.#madeBy(row, options.id);
    if (made !== undefined) return made;
    if (options.isExact === true && row.workflow !== id) throw await this.#wasFirst(id, row);
    const drawn = await this.#drawUp(row, state, options);
    if (options.dryRun === true) return drawn.done;
    const isFirst = isClosed(state) ? await this.#begin(drawn) : await this.#supersede(drawn, options);
    if (isFirst) return drawn.done;
    const now = await inbox.find(id);
    // It has ended by itself meanwhile, and is reset all the same.
    if (now.row.workflow === row.workflow && isClosed(now.state)) return this.reset(id, options);
    const same = await this.#madeBy(now.row, options.id);
    if (same !== undefined) return same;
    refuse(now.row, now.state, options);
    throw await this.#wasFirst(row.workflow, now.row);
  }

  /** Somebody else reset it, or it continued. */
  async #wasFirst(workflow: string, now: WorkflowSummary): Promise<ConflictError> {
    const by = (await this.#originOf(now))?.by;
    const what = by === undefined ? `goes on as ${now.workflow}` : `was reset by ${by}, as ${now.workflow}`;
    return new ConflictError('workflow-reset', `Workflow ${workflow} ${what}. Reset that one if it must be.`, {
      workflow,
      by,
    });
  }

  async #drawUp(row: WorkflowSummary, state: StreamState, options: ResetOptions): Promise<Drawn> {
    const { ports } = this.#dependencies;
    refuse(row, state, options);
    const at = await this.#placeIn(row, options);
    if (state.undo !== null && (row.status !== 'compensated' || at > 0)) throw wasUndone(row, state.undo);
    const past = await workflowAt(ports, row.workflow, at);
    checkBase(row, past, 'reset');
    await admitted(ports, past, { ...options, effects: 'live' });
    const undoes = options.effects === 'undo' && state.undo === null;
    if (options.sameKeys === true && (undoes || state.undo !== null)) {
      const message = `sameKeys: what ${row.workflow} did is compensated, and so called again under new keys. Leave it out, or give keep or ask for effects.`;
      throw new InvalidError('reset-invalid', message, { workflow: row.workflow });
    }
    const undo = undoes ? undoId(row.workflow) : null;
    if (undo !== null && (await ports.store.workflow(undo)) !== undefined) throw wasUndone(row, undo);
    const reset: ResetOrigin = {
      id: options.id,
      why: guardOf(row.definition, options.definitions ?? [], ports).take('decision', 'why', options.why),
      undoes,
      discarded: await this.#discarded(row, past, options),
    };
    const next = await this.#nextOf(row, state, past, options, reset);
    const opening = await this.#fitting(row, next, state);
    const known = definitionFor(options.definitions ?? [], state)?.effects ?? [];
    const how = { effects: options.effects, isUndone: state.undo !== null, discard: new Set(options.discard), known };
    const { fork } = next.control as unknown as Controls['WorkflowOpened'];
    const as = { workflow: row.workflow, run: continuationId(row.workflow), at: past.state.head.sequence };
    // A job over thousands tells nobody.
    const isTold = options.isExact !== true || options.dryRun === true;
    const plan = isTold ? await resetPlan(ports, row, past, how) : NOTHING_PLANNED;
    const done = { ...as, ...plan, effects: fork!.effects, created: options.dryRun !== true, undo };
    return { row, state, next, opening, done };
  }

  /** Throws `InvalidError` (`sequence-unknown`, `step-unknown`, `effect-unknown`). */
  async #placeIn(row: WorkflowSummary, { at, before, discard = [] }: ResetOptions): Promise<Sequence> {
    const { store } = this.#dependencies.ports;
    if (at === 'last') return row.sequence;
    if (at !== undefined) return checkedSequence(row.workflow, at);
    if (before !== undefined) {
      const [first] = await store.checkpoints(row.workflow, { from: 1 as Sequence, limit: 1, step: before });
      if (first !== undefined) return (first.sequence - 1) as Sequence;
      throw new InvalidError('step-unknown', `before: ${row.workflow} has no checkpoint of a step '${before}'.`);
    }
    const listings = await store.effectListings(row.workflow, {});
    const tasks = listings.filter(({ key }) => discard.includes(key)).map(({ task }) => task);
    if (tasks.length === 0) {
      const message = `at: say where ${row.workflow} begins again: after a checkpoint (0 is the opening), before a step, or before a call that is discarded.`;
      throw new InvalidError('sequence-unknown', message, { workflow: row.workflow });
    }
    const commits = await store.commits(row.workflow, tasks);
    return Math.min(row.sequence, ...commits.map(({ sequence }) => sequence - 1)) as Sequence;
  }

  /** Throws `InvalidError` (`effect-unknown`). */
  async #discarded(
    row: WorkflowSummary,
    past: PastWorkflow,
    { discard = [], sameKeys }: ResetOptions,
  ): Promise<ResetOrigin['discarded']> {
    if (discard.length === 0) return [];
    if (discard.length > DISCARDED_MAX_COUNT) {
      throw new InvalidError('effect-unknown', `discard: name at most ${DISCARDED_MAX_COUNT} calls.`);
    }
    const effects = await this.#dependencies.ports.store.effects(row.workflow, {});
    return discard.map((key) => {
      const effect = effects.find((one) => one.key === key);
      if (effect?.status !== 'done' || effect.request === null || !isLater(past, effect)) {
        const message = `discard: ${row.workflow} recorded no outcome of a call ${key} after checkpoint ${past.state.head.sequence}.`;
        throw new InvalidError('effect-unknown', message, { workflow: row.workflow, key });
      }
      const { sends, replays } = decodePayload('EffectIntended', effect.request);
      return { key: effect.key, ...(sameKeys === true && { sends: sends ?? replays ?? (key as EffectKey) }) };
    });
  }

  /** Throws `LimitError` (`signals-full`, `reset-too-large`): what can't begin must not end what stands. */
  async #fitting(row: WorkflowSummary, next: NextOpening, state: StreamState): Promise<Drawn['opening']> {
    const { ports, starter } = this.#dependencies;
    const opening = await openingOfReset(ports, row, next, state);
    const { signals = [] } = opening.control.continues!;
    const bytes = signals.reduce((sum, { sizeBytes = 0 }) => sum + sizeBytes, 0);
    if (signals.length > SIGNALS_MAX || bytes > SIGNALS_MAX_BYTES) {
      const message = `at: ${row.workflow} received ${signals.length} signals of ${bytes} bytes that the next run would hold; at most ${SIGNALS_MAX} of ${SIGNALS_MAX_BYTES} bytes fit. Reset it to a later checkpoint.`;
      throw new LimitError('signals-full', message, { workflow: row.workflow });
    }
    try {
      starter.checkFits(nextRequest(row, next, { lamport: row.lamport, ...opening }));
      return opening;
    } catch (error) {
      if (!(error instanceof LimitError)) throw error;
      const message = `${row.workflow} can't be reset there, since its next run would begin with too much: ${error.message}`;
      throw new LimitError('reset-too-large', message, { workflow: row.workflow });
    }
  }

  async #nextOf(
    row: WorkflowSummary,
    state: StreamState,
    past: PastWorkflow,
    options: ResetOptions,
    reset: ResetOrigin,
  ): Promise<NextOpening> {
    const { ports } = this.#dependencies;
    const isLive = options.effects === 'undo' || state.undo !== null;
    const effects = isLive ? 'live' : (options.effects as 'keep' | 'ask');
    const drawn = await drawUpContent(this.#dependencies, past, { ...options, effects });
    const { control, payload, mode, definition, heard } = withSignalsAgain(past, drawn);
    const { session, tags, dispatch } = state;
    const parent = await this.#parentOf(state);
    const { timeoutMs, trace } = past.opening;
    const unread = [...heard, ...past.state.signals];
    const kept = {
      ...(session !== undefined && { session }),
      ...(tags !== undefined && { tags }),
      ...(parent !== undefined && { parent }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(trace !== undefined && { trace }),
      continues: { workflow: row.workflow, spent: NO_SPEND, ...(unread.length > 0 && { signals: unread }) },
    };
    const signals = Object.fromEntries(unread.map(({ event }) => [event, past.content.causeOf(event)]));
    const own = { signals, fork: { ...payload.fork, reset } };
    if (options.input === undefined || past.state.head.sequence > 0 || past.content.fork !== undefined) {
      return { mode, control: { ...control, ...kept } as unknown as Json, ...payload, ...own };
    }
    // It begins as a new one would, with the new input.
    const as = continuationId(row.workflow);
    const begun = {
      definition: definition!,
      input: options.input,
      workflow: as,
      session,
      user: state.user,
      tags,
      parent,
    };
    const anew = drawUpOpening({ ...begun, priority: dispatch?.priority }, ports);
    const tasks = anew.control.tasks.map((_task, index) => {
      const task = taskId(0, index);
      return { task, place: placeOf(task, undefined), version: definition!.version };
    });
    return {
      mode,
      control: { ...anew.control, ...kept, pinned: control.pinned, fork: control.fork } as unknown as Json,
      ...anew.payload,
      ...own,
      fork: { ...own.fork, tasks },
    };
  }

  /** A parent that has ended would only cancel it; one that runs waits for the end of the last run, or knows of the first. */
  async #parentOf({ parent }: StreamState): Promise<Parent | undefined> {
    const row = parent && (await this.#dependencies.ports.store.workflow(parent.workflow));
    return row === undefined || isClosed(row) ? undefined : parent;
  }

  /** Whether the history was ended by this request: its holder, if it has one, is fenced. */
  async #supersede(drawn: Drawn, { id, by, definitions = [] }: ResetOptions): Promise<boolean> {
    const { inbox, ports } = this.#dependencies;
    const { row, next, done } = drawn;
    const guard = guardOf(row.definition, definitions, ports);
    const event = eventId(`reset:${id}`);
    const control = { as: done.run, at: done.at, by };
    const why = next.fork!.reset!.why;
    const payload = guard.content('decision', 'reset', why).as((said) => ({ why: said, output: null, next }));
    const head = guard.names('by', { by, id }).as(() => ({ id: event, control }));
    if (!(await inbox.write(row, 'WorkflowReset', head, payload))) return false;
    const ended = await inbox.exactly(row.workflow);
    return this.#begin({ ...drawn, ...ended, opening: await openingOfReset(ports, ended.row, next, ended.state) });
  }

  /**
   * Whether the next run is this one. A coordinator may begin it as well, of a history that was ended for it. Rows know it then: who asks
   * for the outcome next must not be given that of the old run.
   */
  async #begin({ row, next, opening, done }: Drawn): Promise<boolean> {
    const { lamport, starter, inbox } = this.#dependencies;
    lamport.witness(row.lamport);
    const { created } = await starter.open(nextRequest(row, next, { lamport: lamport.stamp(), ...opening }));
    const found = await inbox.exactly(done.run).catch((error: unknown) => {
      // It has begun, however late rows are.
      if (created) return undefined;
      throw error;
    });
    return created || (found !== undefined && (await this.#originOf(found.row))?.reset?.id === next.fork!.reset!.id);
  }

  async #originOf(row: WorkflowSummary) {
    if (supersedes(row) === undefined) return undefined;
    const { store } = this.#dependencies.ports;
    const [opening] = await store.checkpoints(row.workflow, { from: 0 as Sequence, limit: 1 });
    return opening && decodePayload('WorkflowOpened', opening.payload).fork;
  }

  /** What it is, if the request with this id made it. */
  async #madeBy(row: WorkflowSummary, id: string): Promise<ResetDone | undefined> {
    const reset = (await this.#originOf(row))?.reset;
    if (reset?.id !== id) return undefined;
    const { workflow, sequence, effects } = row.fork!;
    const undo = reset.undoes ? undoId(workflow) : null;
    return { workflow, run: row.workflow, at: sequence, effects, created: false, undo, ...NOTHING_PLANNED };
  }
}

/**
 * Tasks for which a signal came wait for it again, and it is the first of those that are inherited: so it comes as it was amended, or not at
 * all, since then.
 */
function withSignalsAgain<T extends Awaited<ReturnType<typeof drawUpContent>>>(
  { state, content }: PastWorkflow,
  drawn: T,
) {
  const tasks = [...state.frontier.tasks];
  const awaited = tasks.map((task) => {
    const may = task.cause?.kind === 'signal' && task.awaited?.every(({ kind }) => kind !== 'child');
    return may === true ? task.awaited : undefined;
  });
  const heard = tasks.flatMap(({ cause }, index) => {
    if (cause === null || awaited[index] === undefined) return [];
    const sizeBytes = Buffer.byteLength(JSON.stringify(content.causeOf(cause.event)));
    return [{ name: cause.name, event: cause.event, sizeBytes }];
  });
  const { control, payload } = drawn;
  const declared = control.tasks.map((task, index) => ({ ...task, when: awaited[index]?.map(inFork) ?? task.when }));
  const origins = payload.fork.tasks.map(({ cause, ...origin }, index) =>
    cause === undefined || awaited[index] !== undefined ? origin : { ...origin, cause },
  );
  return {
    ...drawn,
    control: { ...control, tasks: declared },
    payload: { ...payload, fork: { ...payload.fork, tasks: origins } },
    heard,
  };
}

/** Throws where nothing may be reset now, and says what to do instead. */
function refuse(row: WorkflowSummary, state: StreamState, { effects }: ResetOptions): void {
  const { workflow, fork } = row;
  const { paused } = state;
  const undo = state.status === 'compensating' ? state.undo : paused?.by.endsWith(UNDO_SUFFIX) ? paused.by : null;
  if (undo !== null) {
    const message = `Workflow ${workflow} can't be reset while ${undo} undoes what was done. Reset it once that has ended.`;
    throw new ConflictError('workflow-compensating', message, { workflow, undo });
  }
  if (!isClosed(state) && state.ruling === 'cancel') {
    throw new ConflictError(
      'workflow-cancelling',
      `Workflow ${workflow} is being cancelled. Reset it once it has ended.`,
      {
        workflow,
      },
    );
  }
  if (fork?.effects === 'replay') {
    const message = `Workflow ${workflow} is a fork that replays, and calls nothing. Make another fork instead.`;
    throw new InvalidError('reset-of-replay', message, { workflow });
  }
  if (effects === 'undo' && (fork?.effects === 'keep' || fork?.effects === 'ask')) {
    const message = `effects: ${workflow} was itself reset with what ${fork.workflow} did, not all of which it has come to yet. Give keep or ask.`;
    throw new InvalidError('reset-of-kept', message, { workflow });
  }
  if (isClosed(state)) return;
  for (const { effects: calls } of state.frontier.tasks) {
    const open = calls.find(mayStillAct);
    if (open === undefined) continue;
    const message = `Workflow ${workflow} has begun a call of ${open.operation} (${open.key}) whose outcome isn't known. Pause it and wait, or answer its question, and reset it then.`;
    throw new ConflictError('effect-open', message, { workflow, key: open.key });
  }
}

const wasUndone = ({ workflow }: WorkflowSummary, undo: WorkflowId): InvalidError =>
  new InvalidError(
    'reset-of-compensated',
    `Workflow ${workflow} was compensated by ${undo}: what its checkpoints say was done no longer is. Reset it to its opening (at: 0) if all was compensated, or start another.`,
    { workflow, undo },
  );
