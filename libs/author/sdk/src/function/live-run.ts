/**
 * Owns a function of a user while a worker has its workflow: what it has asked for, and what of that is decided. The checkpoints of the
 * workflow are its journal: after a crash, a hand-over or a wait the function is called anew, and each recorded outcome is given to it at
 * once, in the order of the log.
 *
 * F1 An outcome goes to the call of the same name, the same place among those of its name, and the same request; to no other.
 * F2 What the function asks for after an outcome is in the checkpoint of that outcome, so a fresh run asks for the same before it goes on.
 * F3 One outcome at a time: the next is given once the checkpoint of the one before has its place in the log's order.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { InvalidError, type Json } from '@tidemark/core';
import {
  checkName,
  FatalError,
  type FragmentDraft,
  type StepContext,
  type StepResult,
  type WaitRequest,
} from '@tidemark/runtime';
import { FUNCTION_CALLS_MAX_COUNT } from '../limits.ts';
import { CANCELLED, callError } from './call-failed.ts';
import { changedCode, changedRequest } from './changed-code.ts';
import type { CallId, Chapter, Recorded, Result } from './outcome.ts';

/**
 * How long a replay waits for a recorded call, in milliseconds: the function may await what nobody records. Less long while it asks for what
 * is recorded for later: then most likely its code has changed.
 */
const REPLAY_WAIT_MS = 60_000;
const REPLAY_OTHER_MS = 10_000;
/** Calls that one checkpoint begins, at most: the others follow with the next ones. */
const BEGINS_MAX_COUNT = 500;

/** The name of a call that registers what a rollback calls. */
export const ROLLBACK = 'onRollback';

/** Outcomes after which a long replay lets the process turn to something else. */
const TURN_COUNT = 64;

/** How a call is made. */
export interface CallKind {
  /** What runs it, within a task of its own; undefined for a wait. */
  readonly perform: ((context: StepContext) => Promise<unknown>) | undefined;
  /** What it waits for; undefined: nothing. */
  readonly waits: readonly WaitRequest[] | undefined;
  /** Nothing is lost with it where nobody awaits it any more: it calls nothing outside, and has no child. */
  readonly mayDrop: boolean;
  readonly isClosure?: boolean | undefined;
  /** What was recorded answers it although it asks for something else now. */
  readonly takesRecorded?: boolean | undefined;
  /** It registers what a rollback calls, so its step has a compensation. */
  readonly isRollback?: true | undefined;
  /** The effect whose response, with secret fields in it, is the call's value. */
  readonly secretOf?: string | undefined;
  /** Where the function asked for it, if that isn't where it becomes a call. */
  readonly stack?: Error | undefined;
}

/** What a function asks for. */
export interface Call extends CallId, CallKind {
  readonly settle: (result: Result) => void;
  /** The member of a race that asked for it. */
  readonly branch: Branch | undefined;
  /** It lost a race: the function may end without it. */
  hasLost: boolean;
  /** Whether it is in a checkpoint, as a task. */
  isBegun: boolean;
  /** The function knew that it is cancelled when it asked. */
  readonly knowsCancel: boolean;
  /** Where the function asks for it, while it is called anew. */
  readonly stack: Error | undefined;
}

type CallPlace = Pick<CallId, 'name' | 'place' | 'member'>;

/** A member of `all` or `race`, within another one perhaps. */
export interface Branch {
  readonly within: Branch | undefined;
  /** As `CallId.member`. */
  readonly member: string;
  /** Those that it has begun. */
  groupCount: number;
  /** Nobody awaits it any more. */
  hasLost: boolean;
}

/** The call whose closure runs: nothing that is asked for within it could be told apart from what the function asks for. */
const within = new AsyncLocalStorage<string>();
/** The member of a race that runs. */
const branches = new AsyncLocalStorage<Branch>();

const hasLost = (branch: Branch | undefined): boolean =>
  branch !== undefined && (branch.hasLost || hasLost(branch.within));

/** A constant reason, because an abort without one creates an error with a stack. */
const MOVED = 'moved';

const never = (): Promise<never> => new Promise(() => {});

/** A failure that nobody awaits yet must not end the worker's process. */
export function unawaited<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
/** Resolves once no promise has anything left to do, within this turn of the event loop: ticks that promises ask for come after all of them. */
const promisesRest = async (): Promise<void> => {
  await undefined;
  await new Promise<void>((resolve) => process.nextTick(resolve));
};

/** What a checkpoint is to have, and who must hear of its place in the log's order. */
export interface Turn<T> {
  readonly made: T;
  readonly settled: (isStaged: boolean) => void;
}

/** How the function ended. */
export type End = { readonly output: unknown } | { readonly error: unknown };

export class LiveRun {
  end: End | undefined;
  /** Time of the newest decision, in milliseconds since the Unix epoch. */
  nowMs: number;
  isReplaying = false;
  /** The function has taken the time or chance of its chapter. */
  hasDrawn = false;
  /** Lines for the execution log since the newest outcome. */
  notes: { readonly action: string; readonly detail: unknown }[] = [];
  /** What the function told later model calls since the newest outcome. */
  fragments: FragmentDraft[] = [];
  /** Versions of changes that the function asked for since the newest outcome. */
  versions = new Map<string, number>();
  /** What the function last set as its belief; undefined: nothing, in this chapter. */
  belief: Json | undefined;
  /** The state with which the next chapter begins; undefined: the function hasn't ended this one. */
  next: { readonly state: Json } | undefined;
  /** An outcome was given to the function, and its checkpoint was discarded: what followed from it never was. */
  isVoid = false;
  /** Calls in a row that were not made since the run is cancelled. */
  cancelledCount = 0;
  /** What the function has asked for, in order: for people who must see what changed. */
  readonly asked: CallId[] = [];
  /** Calls that are not decided, in the order in which they were asked for; of them, those that no checkpoint has. */
  readonly #calls = new Map<string, Call>();
  readonly #fresh = new Set<Call>();
  /** Calls that have a task which nobody awaits any more. */
  #dropped = new Set<string>();
  /** Of requests that differ from the recorded ones. */
  readonly #warnings: { readonly code: string; readonly result: string }[] = [];
  /** Whether the function was told that the run is cancelled. */
  #knowsCancel = false;
  /**
   * The recorded calls, in the order in which they were asked for: what an outcome decides has begun before, but for a call that ran at once;
   * and those of them that the function hasn't come to, as long as it asks in that order.
   */
  #known: ReadonlyMap<string, CallId> = new Map();
  #inOrder = this.#known.values();
  readonly #counts = new Map<string, number>();
  #groupCount = 0;
  #decidedCount = 0;
  readonly #recordedVersions = new Map<string, number>();
  /** What waits until the function is quiet before it becomes a call, such as the members of a race. */
  #gathered: (() => void)[] = [];
  #turn: Promise<void> = Promise.resolve();
  readonly #listeners = new Set<() => void>();
  readonly chapter: Chapter;

  readonly #clock: Pick<StepContext, 'clockMs' | 'pause'>;

  constructor(chapter: Chapter, clock: Pick<StepContext, 'clockMs' | 'pause'>) {
    this.chapter = chapter;
    this.#clock = clock;
    this.nowMs = chapter.beganAtMs;
  }

  /** Calls the function, and gives it the recorded outcomes. Throws `ParkError` (`function-changed`) where it asks for something else. */
  async begin(body: () => Promise<unknown>, journal: readonly Recorded[]): Promise<void> {
    this.isReplaying = journal.length > 0;
    this.#known = new Map(
      journal.flatMap(({ call, begins }) => [...(call === null ? [] : [call]), ...begins]).map((id) => [keyOf(id), id]),
    );
    this.#inOrder = this.#known.values();
    for (const { versions = {} } of journal) {
      for (const [name, version] of Object.entries(versions)) this.#recordedVersions.set(name, version);
    }
    const ended = (end: End): void => {
      this.end = end;
      this.#moved();
    };
    void (async () => body())().then(
      (output) => ended({ output }),
      (error: unknown) => ended({ error }),
    );
    await this.#quiet();
    await this.#replay(journal);
    if (!this.isReplaying) return;
    this.isReplaying = false;
    this.notes = this.#warnings.map((detail) => ({ action: 'warning', detail }));
    this.fragments = [];
  }

  /** The version of a change in the code: that which the run has met first. One that came by here before the change was made has 1. */
  version(name: string, current: number): number {
    this.refuseWithin('ctx.version');
    const known = this.#recordedVersions.get(name) ?? (this.isReplaying ? 1 : current);
    if (!this.isReplaying && !this.#recordedVersions.has(name)) this.versions.set(name, known);
    this.#recordedVersions.set(name, known);
    return known;
  }

  /** Throws `InvalidError` (`call-in-call`) within the closure of a call. */
  refuseWithin(what: string): void {
    const outer = within.getStore();
    if (outer === undefined) return;
    throw new InvalidError(
      'call-in-call',
      `${what} was made within the closure of call ${outer}, which is recorded as a whole. Make it in the function itself.`,
    );
  }

  /** Adds a call. Throws `InvalidError` (`function-ended`) after the function has ended, and for a name that no task can have. */
  ask(name: string, asks: string, kind: CallKind): Promise<unknown> {
    checkName('name', name);
    if (name === ROLLBACK && kind.isRollback !== true) {
      throw new InvalidError('name-reserved', `A call can't have the name ${ROLLBACK}: ctx.onRollback has it.`);
    }
    const branch = branches.getStore();
    // Nobody awaits what follows from it.
    if (this.isVoid || hasLost(branch)) return never();
    this.refuseWithin(`Call ${name}`);
    if (this.end !== undefined || this.next !== undefined) {
      throw new InvalidError(
        'function-ended',
        `Call ${name} was made after the function had ended: await every call before it returns.`,
      );
    }
    if (this.asked.length >= FUNCTION_CALLS_MAX_COUNT) {
      throw new FatalError(
        `A function has made ${FUNCTION_CALLS_MAX_COUNT} calls since its last chapter. Begin a new one: await ctx.chapter(state).`,
      );
    }
    const own = branch === undefined ? {} : { member: branch.member };
    const counted = `${branch?.member ?? ''} ${name}`;
    const place = this.#counts.get(counted) ?? 0;
    this.#counts.set(counted, place + 1);
    const asked = new Promise((resolve, reject) => {
      const settle = (result: Result): void =>
        'error' in result ? reject(callError(name, result.error)) : resolve(structuredClone(result.value));
      const stack = kind.stack ?? (this.#differs({ name, place, ...own, asks }) ? new Error() : undefined);
      const state = { hasLost: false, isBegun: false, knowsCancel: this.#knowsCancel };
      const call: Call = { name, place, ...own, asks, ...kind, settle, branch, stack, ...state };
      this.#calls.set(keyOf(call), call);
      this.#fresh.add(call);
      this.asked.push({ name, place, ...own, asks });
      this.#moved();
    });
    return unawaited(asked);
  }

  /** Begins `all` or `race`; the result runs a member of it. */
  group(): <T>(
    at: number,
    body: () => T | PromiseLike<T>,
  ) => { readonly branch: Branch; readonly promise: Promise<T> } {
    const outer = branches.getStore();
    const group = outer === undefined ? this.#groupCount++ : outer.groupCount++;
    return (at, body) => {
      const member = `${outer === undefined ? '' : `${outer.member}/`}${group}.${at}`;
      const branch: Branch = { within: outer, member, groupCount: 0, hasLost: false };
      return { branch, promise: branches.run(branch, async () => body()) };
    };
  }

  /** Whether the function, called anew, asks for something else than is recorded next. */
  #differs(id: CallId): boolean {
    if (!this.isReplaying) return false;
    const recorded = this.#inOrder.next().value;
    return recorded === undefined || keyOf(recorded) !== keyOf(id) || recorded.asks !== id.asks;
  }

  /** Another member came first. What has called something is still recorded; the rest is dropped. */
  lose(branch: Branch): void {
    branch.hasLost = true;
    for (const call of [...this.#calls.values()].filter((each) => hasLost(each.branch))) {
      call.hasLost = true;
      if (!call.mayDrop && call.isBegun) continue;
      this.#calls.delete(keyOf(call));
      if (!this.#fresh.delete(call)) this.#dropped.add(keyOf(call));
    }
  }

  /** Runs the work when the function is quiet next. */
  gather(work: () => void): void {
    this.#gathered.push(AsyncLocalStorage.bind(work));
    this.#moved();
  }

  find(id: CallPlace): Call | undefined {
    return this.#calls.get(keyOf(id));
  }

  /** The member of `all` or `race` that runs; empty: the function itself. */
  get member(): string {
    return branches.getStore()?.member ?? '';
  }

  /** Whether the call has lost a race, and no checkpoint says so yet. */
  isLost(id: CallPlace): boolean {
    return this.find(id) === undefined && this.asked.some((each) => keyOf(each) === keyOf(id));
  }

  /** Waits for the turn under way where the function doesn't wait for the call any more: its checkpoint is about to drop that. */
  async awaited(id: CallPlace): Promise<Call> {
    if (this.find(id) === undefined) await this.#turn;
    return this.#get(id);
  }

  #get(id: CallPlace): Call {
    const call = this.find(id);
    if (call !== undefined) return call;
    throw new InvalidError('call-unknown', `The function doesn't wait for ${id.name} any more.`, { call: id.name });
  }

  /** Calls that no checkpoint has, in the order in which they were asked for. */
  get fresh(): readonly Call[] {
    return [...this.#fresh];
  }

  /** Those of them that the next checkpoint begins. */
  get begins(): readonly Call[] {
    return this.#fresh.size <= BEGINS_MAX_COUNT ? this.fresh : this.fresh.slice(0, BEGINS_MAX_COUNT);
  }

  /** What the next checkpoint drops. */
  get drops(): StepResult['drops'] {
    const dropped = this.#dropped;
    if (dropped.size === 0) return undefined;
    return ({ step, input }) => {
      const { place = -1, member } = input as { readonly place?: number; readonly member?: string };
      return dropped.has(keyOf({ name: step, place, member }));
    };
  }

  endChapter(state: Json): void {
    this.refuseWithin('ctx.chapter');
    this.next = { state };
    this.#moved();
  }

  /** Runs the closure of a call. */
  static performing<T>(name: string, body: () => T): T {
    return within.run(name, body);
  }

  /** Calls under way, without which the function can't end. */
  get underWay(): readonly Call[] {
    return [...this.#calls.values()].filter(({ perform }) => perform !== undefined);
  }

  get pendingCount(): number {
    return this.#calls.size;
  }

  /** Whether all that is pending has lost a race. */
  get awaitsLosers(): boolean {
    return this.#calls.size > 0 && [...this.#calls.values()].every((call) => call.hasLost);
  }

  get decidedCount(): number {
    return this.#decidedCount;
  }

  async #replay(journal: readonly Recorded[]): Promise<void> {
    const known = this.#known;
    for (const { call: id, result, atMs, begins } of journal) {
      if (id !== null && result !== null) {
        const call = await this.#expected(id, known);
        if (call.asks !== id.asks) this.#warnings.push(changedRequest(call, id));
        await this.#give(call, result as Result, atMs);
      }
      // What a checkpoint added as tasks must be asked for again (F2).
      for (const begun of begins) this.#begun(await this.#expected(begun, known));
      this.#dropped = new Set();
    }
  }

  /** The recorded call, once the function asks for it. Throws `ParkError` (`function-changed`) where it asks for another one in its place. */
  async #expected(id: CallId, known: ReadonlyMap<string, CallId>): Promise<Call> {
    let call = this.find(id);
    for (let waitedMs = 0; call === undefined && this.end === undefined; call = this.find(id)) {
      const others = this.fresh;
      const leftMs = (others.length === 0 ? REPLAY_WAIT_MS : REPLAY_OTHER_MS) - waitedMs;
      if (leftMs <= 0 || others.some((other) => !known.has(keyOf(other)))) break;
      waitedMs += await this.#change(leftMs);
    }
    if (call === undefined || (call.asks !== id.asks && call.takesRecorded !== true))
      throw changedCode(this, [...known.values()], id);
    return call;
  }

  #begun(call: Call): void {
    call.isBegun = true;
    this.#fresh.delete(call);
  }

  /**
   * Decides the call in its turn, lets the function go on, and returns what its checkpoint is to have. `settled` ends the turn. Undefined: the
   * live run is void by then. Throws `InvalidError` (`call-unknown`) for a call that the function doesn't wait for by then.
   */
  decide<T>(
    id: CallPlace,
    { result, atMs }: { readonly result: Result; readonly atMs: number },
    signal: AbortSignal,
    made: (call: Call) => T,
  ): Promise<Turn<T> | undefined> {
    return this.#inTurn(signal, () => {
      const call = this.#get(id);
      return async () => {
        await this.#give(call, result, atMs);
        return made(call);
      };
    });
  }

  /** The same for a checkpoint that decides nothing, and begins what the function asks for. */
  begun<T>(signal: AbortSignal, made: () => T): Promise<Turn<T> | undefined> {
    return this.#inTurn(signal, () => async () => made());
  }

  /** F3. `prepare` gives nothing to the function yet. */
  async #inTurn<T>(signal: AbortSignal, prepare: () => () => Promise<T>): Promise<Turn<T> | undefined> {
    const before = this.#turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#turn = before.then(() => promise);
    let isSettled = false;
    const settled = (isStaged: boolean): void => {
      if (isSettled) return;
      isSettled = true;
      if (!isStaged) this.isVoid = true;
      this.notes = [];
      this.fragments = [];
      this.versions = new Map();
      resolve();
    };
    await before;
    // The checkpoint of the turn before was refused: what the function made of its outcome never was.
    if (this.isVoid) {
      resolve();
      return undefined;
    }
    let work: () => Promise<T>;
    try {
      signal.throwIfAborted();
      work = prepare();
    } catch (error) {
      resolve();
      throw error;
    }
    try {
      const made = await work();
      for (const each of this.begins) this.#begun(each);
      this.#dropped = new Set();
      return { made, settled };
    } catch (error) {
      settled(false);
      throw error;
    }
  }

  async #give(call: Call, result: Result, atMs: number): Promise<void> {
    this.#calls.delete(keyOf(call));
    this.#fresh.delete(call);
    const isCancelled = 'error' in result && result.error.code === CANCELLED;
    if (isCancelled) this.#knowsCancel = true;
    this.cancelledCount = isCancelled ? this.cancelledCount + 1 : 0;
    this.#decidedCount += 1;
    this.nowMs = Math.max(this.nowMs, atMs);
    call.settle(result);
    await this.#quiet();
  }

  #moved(): void {
    for (const report of this.#listeners) report();
  }

  /** Waits until the function asks for something or ends, or for so long; returns how long it waited. */
  async #change(maxMs: number): Promise<number> {
    const startedMs = this.#clock.clockMs();
    const moved = new AbortController();
    const report = (): void => moved.abort(MOVED);
    this.#listeners.add(report);
    await this.#clock.pause(maxMs, moved.signal);
    this.#listeners.delete(report);
    await this.#quiet();
    return this.#clock.clockMs() - startedMs;
  }

  /** Resolves once the function has ended or has asked for something that no checkpoint has, or after so long. */
  async moved(signal: AbortSignal, maxMs: number): Promise<void> {
    for (let leftMs = maxMs; leftMs > 0; ) {
      if (this.end !== undefined || this.next !== undefined || this.#fresh.size > 0) return;
      signal.throwIfAborted();
      leftMs -= await this.#change(Math.min(leftMs, REPLAY_WAIT_MS));
    }
  }

  /** Everything that waits for promises alone has happened. */
  async #quiet(): Promise<void> {
    do {
      await (this.#decidedCount % TURN_COUNT === TURN_COUNT - 1 ? nextTurn() : promisesRest());
      const gathered = this.#gathered;
      this.#gathered = [];
      for (const work of gathered) work();
    } while (this.#gathered.length > 0);
  }
}

const keyOf = ({ name, place, member = '' }: CallPlace): string => `${name}#${place} ${member}`;
