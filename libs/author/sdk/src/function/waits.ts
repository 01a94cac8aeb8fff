/**
 * Owns what a function waits for: signals, people, times, children, and races of all of them. A wait becomes a call when the function is quiet
 * next, so that those which begin with a race are one call. It records nothing itself.
 */

import { toJson } from '@tidemark/codec';
import { InvalidError, type Json } from '@tidemark/core';
import type { ApprovalOptions, WaitRequest } from '@tidemark/runtime';
import type { ApprovalCause, ChildCause } from '../context.ts';
import type { Frozen, Parsed, Schemas } from '../schema.ts';
import { type ChildOptions, at as moment, timer } from '../wait.ts';
import type { InputOf, OutputOf, Workflow } from '../workflow-spec.ts';
import { type Branch, type LiveRun, unawaited } from './live-run.ts';
import { digestOf } from './outcome.ts';

/** Characters of a race's name, which its members' names make. */
const RACE_NAME_MAX_CHARS = 200;
/** Waits of one race that are one task. */
const TOGETHER_MAX_COUNT = 16;

/** A person's answer. */
export type Answered<Value> = { readonly by: string; readonly why: string | null } & (
  | { readonly approved: true; readonly value: Value }
  | { readonly approved: false; readonly value: null }
);

/** Something that a function waits for. It counts from when the function asks, and may be a member of a race. */
export interface Waiting<T> extends PromiseLike<T> {
  readonly waiting: true;
}

type Racer<T> = PromiseLike<T> | (() => PromiseLike<T>);
/** The member that came first, with its value. */
export type Winner<Members> = {
  [Name in keyof Members & string]: Members[Name] extends Racer<infer T>
    ? { readonly name: Name; readonly value: T }
    : never;
}[keyof Members & string];

/** A wait before it becomes a call: members of one race become a single one. */
class Gathered implements Waiting<unknown> {
  readonly waiting = true;
  readonly wait: WaitRequest;
  readonly name: string;
  #promise: Promise<unknown> = Promise.resolve();
  /** Where the function asked for it. */
  readonly stack: Error | undefined;
  #resolve: (value: unknown) => void = () => {};
  /** It has become a call, or a part of a race. */
  isTaken = false;
  #isIdle = false;

  readonly #live: LiveRun;

  constructor(live: LiveRun, name: string, wait: WaitRequest) {
    this.#live = live;
    this.name = name;
    this.wait = wait;
    this.stack = live.isReplaying ? new Error() : undefined;
    this.#renew();
    this.#askLater();
  }

  #renew(): void {
    this.#isIdle = false;
    this.#promise = unawaited(
      new Promise((resolve) => {
        this.#resolve = resolve;
      }),
    );
  }

  /** A race that begins meanwhile takes it. */
  #askLater(): void {
    this.#live.gather(() => {
      if (!this.isTaken) this.follow(askFor(this.#live, this.name, [this]).then(({ value }) => value));
    });
  }

  follow(promise: Promise<unknown>): void {
    if (this.#isIdle) this.#renew();
    this.isTaken = true;
    this.#resolve(promise);
  }

  /** It has lost a race: it begins again when it is next awaited, or raced. A child goes on, and is awaited as it is. */
  lost(): void {
    if (this.wait.kind === 'child') return;
    this.isTaken = false;
    this.#isIdle = true;
  }

  // biome-ignore lint/suspicious/noThenProperty: a wait is awaited as any promise is
  then<A, B>(
    done?: ((value: unknown) => A | PromiseLike<A>) | null,
    failed?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ) {
    if (this.#isIdle) {
      this.#renew();
      this.#askLater();
    }
    return this.#promise.then(done, failed);
  }
}

/** What a function can wait for. No worker is held meanwhile. */
export interface Waits<Signals extends Schemas, Approvals extends Schemas> {
  /**
   * Begins all of them, and resolves with their results in the order given. Rejects with the first failure: what then waits is dropped, and what
   * has called something is recorded before the run ends.
   */
  all<const Calls extends readonly (() => unknown)[]>(
    calls: Calls,
  ): Promise<{ -readonly [At in keyof Calls]: Awaited<ReturnType<Calls[At]>> }>;
  /** Waits so long: `90s`, `2d`, or milliseconds. No worker is held meanwhile. */
  sleep(duration: string | number): Waiting<null>;
  until(date: Date | string): Waiting<null>;
  /** The next signal of this name: one that came before anybody waited counts, and each counts once. */
  signal<Name extends keyof Signals & string>(name: Name): Waiting<Frozen<Parsed<Signals[Name]>>>;
  approval<Name extends keyof Approvals & string>(
    name: Name,
    options?: ApprovalOptions,
  ): Waiting<Answered<Frozen<Parsed<Approvals[Name]>>>>;
  /** Starts another workflow or function, one of the definition's `children`, and resolves with its output. */
  child<Of extends Workflow>(
    of: Of,
    input: NoInfer<InputOf<Of>>,
    options?: Pick<ChildOptions, 'onParentClose'>,
  ): Waiting<OutputOf<Of>>;
  /**
   * Resolves with the member that comes first. Waits that lost begin again when they are next awaited or raced; other members that lost are
   * dropped, or recorded before the run ends where they have called something.
   */
  race<const Members extends Readonly<Record<string, Racer<unknown>>>>(members: Members): Promise<Winner<Members>>;
}

export function waitsOf(live: LiveRun): Waits<Schemas, Schemas> {
  const wait = (name: string, request: WaitRequest) => new Gathered(live, name, request) as unknown as Waiting<never>;
  return {
    sleep: (duration) => wait('sleep', timer(duration).anyOf[0]!),
    until: (date) => wait('until', moment(date).anyOf[0]!),
    signal: (name) => wait(name, { kind: 'signal', name }),
    approval: (name, options = {}) => wait(name, { kind: 'approval', name, ...options }),
    child: (of, input, { onParentClose = 'cancel' } = {}) =>
      wait(of.name, { kind: 'child', name: of.name, input, onClose: onParentClose }),
    all: (calls) => unawaited(all(live, calls)) as never,
    race: (members) => unawaited(race(live, members)) as never,
  };
}

async function askFor(
  live: LiveRun,
  name: string,
  members: readonly Gathered[],
): Promise<{ readonly index: number; readonly value: unknown }> {
  const waits = members.map(({ wait }) => wait);
  const mayDrop = !waits.some(({ kind }) => kind === 'child');
  const asks = waits.map(askedOf);
  const came = await live.ask(name, digestOf(asks), { perform: undefined, waits, mayDrop, stack: members[0]?.stack });
  return waits.length === 1 ? { index: 0, value: came } : (came as { index: number; value: unknown });
}

/**
 * Waits that begin with the race are one call, so that one of them comes and no signal is taken by another. But children, and a second wait
 * for the same thing, are calls of their own: of one task nobody could tell which came.
 */
async function race(live: LiveRun, members: Readonly<Record<string, Racer<unknown>>>): Promise<Winner<never>> {
  const entries = Object.entries(members);
  if (entries.length === 0) throw new InvalidError('race-empty', 'ctx.race was given no members: nobody could win it.');
  const waits = entries.flatMap(([name, member]) =>
    member instanceof Gathered && !member.isTaken ? [{ name, wait: member }] : [],
  );
  const isApart = ({ wait: { wait } }: (typeof waits)[number], at: number): boolean =>
    wait.kind === 'child' ||
    at >= TOGETHER_MAX_COUNT ||
    (wait.kind !== 'timer' &&
      wait.kind !== 'at' &&
      waits.slice(0, at).some((other) => other.wait.wait.kind === wait.kind && other.wait.name === wait.name));
  const begin = live.group();
  const branches = new Map<Gathered, Branch>();
  const wait = (group: typeof waits, name: string): void => {
    const at = entries.findIndex(([, member]) => member === group[0]!.wait);
    const own = group.map(({ wait }) => wait);
    const { branch, promise } = begin(at, () => askFor(live, name, own));
    for (const [index, member] of own.entries()) {
      branches.set(member, branch);
      member.follow(promise.then((came) => (came.index === index ? came.value : new Promise(() => {}))));
    }
  };
  const together = waits.filter((each, at) => !isApart(each, at));
  if (together.length > 0) wait(together, raceName(together));
  for (const each of waits.filter(isApart)) wait([each], each.wait.name);
  const running = entries.map(([name, member], at) =>
    typeof member === 'function'
      ? { name, ...begin(at, member) }
      : { name, promise: Promise.resolve(member), branch: branches.get(member as Gathered) },
  );
  const first = await Promise.race(
    running.map(({ name, promise, branch }) =>
      promise.then(
        (value) => ({ branch, name, value }),
        (error: unknown) => ({ branch, name, error }),
      ),
    ),
  );
  for (const { branch } of running) if (branch !== undefined && branch !== first.branch) live.lose(branch);
  if ('error' in first) throw first.error;
  for (const member of branches.keys()) if (member !== members[first.name]) member.lost();
  return { name: first.name, value: first.value } as never;
}

/** Once one has failed, nobody awaits the others. */
async function all(live: LiveRun, calls: readonly (() => unknown)[]): Promise<unknown[]> {
  const begin = live.group();
  const members = calls.map((body, at) => begin(at, body));
  try {
    return await Promise.all(members.map(({ promise }) => promise));
  } catch (error) {
    for (const { branch } of members) live.lose(branch);
    throw error;
  }
}

const raceName = (waits: readonly { readonly name: string; readonly wait: Gathered }[]): string =>
  waits.length === 1
    ? waits[0]!.wait.name
    : waits
        .map(({ name }) => name)
        .join(' or ')
        .slice(0, RACE_NAME_MAX_CHARS)
        .toWellFormed();

/** A time may be computed from now, and a question put in other words: what was recorded counts. */
function askedOf(wait: WaitRequest): Json {
  if (wait.kind === 'timer' || wait.kind === 'at') return wait.kind;
  return wait.kind === 'child'
    ? [wait.kind, wait.name, toJson(wait.input, `input of ${wait.name}`)]
    : [wait.kind, wait.name];
}

type AnyCause =
  | { readonly kind: 'timer' }
  | { readonly kind: 'signal'; readonly name: string; readonly value: Json }
  | ApprovalCause<string, Json>
  | ChildCause<string, Json>;

/** What became of a wait, by the task's cause. Throws `InvalidError`, where it doesn't fit. */
export function causeOf(
  { cause, waits }: { readonly cause: AnyCause | null; readonly waits: readonly WaitRequest[] },
  timerName: string,
): Json {
  const index = waits.findIndex((wait, at) => {
    if (cause === null) return false;
    if (cause.kind === 'timer')
      return (wait.kind === 'timer' || wait.kind === 'at') && (waits.length === 1 || timerName.endsWith(`:${at}`));
    return wait.kind === cause.kind && wait.name === cause.name;
  });
  if (cause === null || index < 0)
    throw new InvalidError('cause-missing', 'A wait of a function has come without its cause.');
  if (cause.kind === 'timer') return { index, value: null };
  if (cause.kind === 'approval') {
    const { approved, value, by, why } = cause;
    return { index, value: { approved, value: value as Json, by, why } };
  }
  if (cause.kind === 'child') {
    return cause.outcome === 'completed'
      ? { index, value: cause.output as Json }
      : { index, failed: `${cause.workflow} ${cause.outcome}: ${cause.message ?? cause.reason ?? ''}` };
  }
  return { index, value: cause.value as Json };
}
