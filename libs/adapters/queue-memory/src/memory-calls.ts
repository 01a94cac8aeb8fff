/**
 * Owns limits of calls in process memory. The rules are those of call-limits.lua in queue-bullmq, whose head says them; both are under one
 * contract.
 */

import { keepLast } from '@tidemark/core';
import type { AskedTurn, CallEnd, CallLimiter, CallScope, CallTurn, Clock } from '@tidemark/ports';
import { FaultRows, isDeclared, CALL_RULES as RULES } from '@tidemark/ports/call-rules';

/** Scopes that are known at once, and calls that wait in line of one; the least used is forgotten, or the first. */
const SCOPES_MAX_COUNT = 10_000;
const PLACES_MAX_COUNT = 100_000;

/** What is known of one scope. Times in milliseconds; `v`, and what is compared with it, in milliseconds of line. */
interface Known {
  v: number;
  atMs: number;
  tatMs: number;
  readonly turns: Map<string, number>;
  readonly places: Map<string, number>;
  readonly running: Map<string, number>;
  openCount: number;
  openMs: number;
  sinceMs: number;
  trial: string;
  why: string;
  learnedMs: number;
  isSlow: boolean;
  cutMs: number;
  meanMs: number;
  troubledMs: number;
}

/** What one call takes of a scope. */
interface Cost {
  readonly rateMs: number;
  /** From this call to the next. */
  readonly spaceMs: number;
  /** The same in line. */
  readonly planMs: number;
  readonly slackMs: number;
  readonly planSlackMs: number;
}

/** What one scope says to a call. */
interface Said {
  readonly scope: CallScope;
  readonly known: Known;
  readonly cost: Cost;
  /** Its place, and how many tenants are in line with it. */
  readonly place: number;
  readonly isNew: boolean;
  readonly tenantCount: number;
  readonly faultMs: number;
  readonly lineMs: number;
  readonly spaceMs: number;
  readonly fullMs: number;
}

export const createMemoryCalls = (clock: Pick<Clock, 'monotonicMs'>): CallLimiter => new MemoryCalls(clock);

class MemoryCalls implements CallLimiter {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #scopes = new Map<string, Known>();
  readonly #rows = new FaultRows();
  #callCount = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  async ask(asked: AskedTurn): Promise<CallTurn> {
    const nowMs = this.#clock.monotonicMs();
    const said = asked.scopes.flatMap((scope) => this.#say(scope, asked, nowMs));
    const inMs = Math.max(0, ...said.map(({ spaceMs }) => spaceMs));
    const isFree = said.every(({ faultMs, lineMs, fullMs }) => faultMs + lineMs + fullMs === 0);
    if (!isFree || inMs > asked.waitMaxMs) return this.#wait(said, asked);
    // Nobody asks how a call ended whose scopes have no limits and no trouble.
    const call = said.length === 0 ? '' : `${++this.#callCount}`;
    for (const each of said) take(each, asked, call, nowMs + inMs);
    return { kind: 'pass', call, inMs };
  }

  async end(asked: AskedTurn, call: string, ended: CallEnd): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    for (const scope of asked.scopes) {
      const { end, isTrip, isTrouble } = this.#rows.judge(scope, ended);
      const known = isTrouble ? this.#known(scope.key, nowMs) : this.#scopes.get(scope.key);
      if (known !== undefined && (isTrouble || call !== '')) endCall(known, { scope, asked, call, end, isTrip }, nowMs);
    }
  }

  async close(): Promise<void> {
    this.#scopes.clear();
  }

  #say(scope: CallScope, asked: AskedTurn, nowMs: number): Said[] {
    const hasLimits = isDeclared(scope);
    const found = this.#scopes.get(scope.key);
    if (found !== undefined && found.troubledMs <= nowMs) {
      Object.assign(found, { openCount: 0, learnedMs: 0 });
      if (!hasLimits) this.#scopes.delete(scope.key);
    }
    if (!hasLimits && !this.#scopes.has(scope.key)) return [];
    return [say(this.#known(scope.key, nowMs), scope, asked, nowMs)];
  }

  #known(key: string, nowMs: number): Known {
    const found = this.#scopes.get(key) ?? nothingKnown(nowMs);
    keepLast(this.#scopes, key, found, SCOPES_MAX_COUNT);
    return found;
  }

  #wait(said: readonly Said[], asked: AskedTurn): CallTurn {
    const waits = said.map((each) => ({ each, waitMs: placed(each, asked) }));
    const { each, waitMs } = waits.reduce((most, other) => (other.waitMs > most.waitMs ? other : most));
    const { scope, known, faultMs } = each;
    return { kind: 'wait', waitMs: Math.ceil(waitMs), scope, faultMs, ...(faultMs > 0 && { why: known.why }) };
  }
}

const nothingKnown = (nowMs: number): Known => ({
  ...{ v: 0, atMs: nowMs, tatMs: nowMs, turns: new Map(), places: new Map(), running: new Map() },
  ...{ openCount: 0, openMs: 0, sinceMs: 0, trial: '', why: '' },
  ...{ learnedMs: 0, isSlow: false, cutMs: Number.NEGATIVE_INFINITY, meanMs: 0, troubledMs: 0 },
});

const activeCount = ({ turns, v }: Known): number => [...turns.values()].filter((turn) => turn > v).length;

/** Moves the line on: by the time that passed, shared by the tenants in line. It stands while the circuit is open. */
function advance(known: Known, nowMs: number): void {
  let restMs = known.openCount > 0 ? 0 : Math.max(0, nowMs - known.atMs);
  known.atMs = Math.max(nowMs, known.atMs);
  while (restMs > 0) {
    const ahead = [...known.turns.values()].filter((turn) => turn > known.v);
    const next = Math.min(...ahead);
    const neededMs = (next - known.v) * ahead.length;
    if (ahead.length > 0 && neededMs <= restMs) {
      known.v = next;
      restMs -= neededMs;
    } else {
      known.v += restMs / Math.max(1, ahead.length);
      restMs = 0;
    }
  }
  for (const [tenant, turn] of known.turns) if (turn <= known.v) known.turns.delete(tenant);
  for (const [call, lostMs] of known.running) if (lostMs <= nowMs) known.running.delete(call);
}

function costOf({ learnedMs, meanMs }: Known, { rate, tokens, concurrency }: CallScope, tokenCount: number): Cost {
  const callMs = rate === undefined ? 0 : rate.perMs / rate.count;
  const rateMs = Math.max(callMs, tokens === undefined ? 0 : (tokenCount * tokens.perMs) / tokens.count);
  const burstMs =
    rate === undefined ? Number.POSITIVE_INFINITY : Math.max(0, Math.floor(rate.count * RULES.burstShare) - 1) * callMs;
  const tokenBurstMs = tokens === undefined ? Number.POSITIVE_INFINITY : tokens.perMs * RULES.burstShare;
  const isPaced = rateMs > 0 || learnedMs > 0;
  const slackMs = learnedMs > rateMs || !isPaced ? 0 : Math.min(burstMs, tokenBurstMs);
  return {
    rateMs,
    slackMs,
    spaceMs: Math.max(rateMs, learnedMs),
    planMs: Math.max(
      rateMs,
      concurrency === undefined ? 0 : meanMs / concurrency,
      Math.min(learnedMs, RULES.learnedPlanMaxMs),
    ),
    planSlackMs: isPaced ? slackMs : meanMs,
  };
}

function say(known: Known, scope: CallScope, { who, tenant, tokens }: AskedTurn, nowMs: number): Said {
  advance(known, nowMs);
  const { concurrency } = scope;
  const cost = costOf(known, scope, tokens);
  const own = known.places.get(who);
  const place = own ?? Math.max(known.turns.get(tenant) ?? 0, known.v);
  const tenantCount = activeCount(known) + (known.turns.has(tenant) ? 0 : 1);
  const isFull = concurrency !== undefined && known.running.size >= concurrency;
  const faultMs = faultMsOf(known, nowMs);
  // The first to come is the trial of an open circuit. Who came back for a slot that is free takes it: how long calls take is a guess.
  const isFirst =
    (known.openCount > 0 && faultMs === 0) ||
    (own !== undefined && concurrency !== undefined && !isFull && cost.spaceMs === 0);
  return {
    ...{ known, scope, cost, place, isNew: own === undefined, tenantCount },
    faultMs,
    lineMs: isFirst ? 0 : Math.max(0, place - known.v - cost.planSlackMs) * tenantCount,
    spaceMs: Math.max(0, known.tatMs - cost.slackMs - nowMs),
    fullMs: isFull ? Math.max(RULES.fullWaitMinMs, known.meanMs / concurrency) : 0,
  };
}

/** How long the circuit stays open for a call that comes now; 0: it is closed, or lets this call through as its trial. */
function faultMsOf({ openCount, openMs, sinceMs, trial, running, meanMs }: Known, nowMs: number): number {
  if (openCount === 0) return 0;
  if (nowMs < openMs)
    return Math.max(openMs - nowMs, Math.min(RULES.askedMaxMs, (nowMs - sinceMs) * RULES.outageShare));
  return running.has(trial) ? Math.min(Math.max(RULES.openFirstMs, meanMs), RULES.trialWaitMaxMs) : 0;
}

function take({ known, cost, place, isNew }: Said, { who, tenant, timeoutMs }: AskedTurn, call: string, atMs: number) {
  known.places.delete(who);
  if (isNew) known.turns.set(tenant, place + cost.planMs);
  if (cost.spaceMs > 0) known.tatMs = Math.max(known.tatMs, atMs) + cost.spaceMs;
  known.running.set(call, atMs + timeoutMs + RULES.callSpanMs);
  if (known.openCount > 0) known.trial = call;
}

/** Puts the call in line where it can't pass, and returns how long it waits there. */
function placed(said: Said, { who, tenant, waitMaxMs }: AskedTurn): number {
  const { known, cost, tenantCount, faultMs, spaceMs, fullMs, isNew } = said;
  let { place, lineMs } = said;
  const roomMs = Math.max(spaceMs, fullMs);
  if (faultMs + lineMs + roomMs === 0) return 0;
  // Its turn has come, and there is no room for it: the end of the line is where there is.
  const isPutBack = faultMs + lineMs === 0 && roomMs > waitMaxMs;
  if (isPutBack) {
    place = Math.max(known.turns.get(tenant) ?? 0, known.v + roomMs / tenantCount);
    lineMs = (place - known.v) * tenantCount;
  }
  if (isNew || isPutBack) {
    known.places.set(who, place);
    known.turns.set(tenant, place + cost.planMs);
    if (known.places.size > PLACES_MAX_COUNT) known.places.delete(known.places.keys().next().value!);
  }
  return Math.max(faultMs + lineMs, roomMs);
}

interface Ended {
  readonly scope: CallScope;
  readonly asked: AskedTurn;
  readonly call: string;
  readonly end: CallEnd;
  readonly isTrip: boolean;
}

interface Failed extends Pick<Ended, 'isTrip'> {
  readonly end: Extract<CallEnd, { readonly kind: 'fault' }>;
  readonly isTrial: boolean;
  readonly rateMs: number;
}

function endCall(known: Known, { scope, asked, call, end, isTrip }: Ended, nowMs: number): void {
  advance(known, nowMs);
  known.running.delete(call);
  const isTrial = call !== '' && known.trial === call;
  if (isTrial) known.trial = '';
  const { rateMs, spaceMs } = costOf(known, scope, asked.tokens);
  if (end.kind === 'unmade') settle(known, -spaceMs);
  if (end.kind === 'answered') {
    known.openCount = 0;
    known.meanMs += (end.tookMs - known.meanMs) * (known.meanMs === 0 ? 1 : RULES.meanWeight);
    if (end.tokens !== undefined && scope.tokens !== undefined)
      settle(known, costOf(known, scope, end.tokens).rateMs - rateMs);
    known.learnedMs *= known.isSlow ? RULES.slowStartFactor : RULES.fasterFactor;
    if (known.learnedMs <= Math.max(rateMs, RULES.learnedMinMs)) known.learnedMs = 0;
  }
  if (end.kind === 'fault') failed(known, { end, isTrip, isTrial, rateMs }, nowMs);
}

function failed(known: Known, { end, isTrip, isTrial, rateMs }: Failed, nowMs: number): void {
  known.why = end.why;
  known.troubledMs = nowMs + RULES.troubleMs;
  const isAsked = end.askedMs !== undefined;
  if (isAsked || isTrial || (isTrip && known.openCount === 0)) {
    if (known.openCount === 0) known.sinceMs = nowMs;
    if (known.openCount === 0 && known.learnedMs === 0 && rateMs === 0) {
      Object.assign(known, { learnedMs: RULES.learnedFirstMs, isSlow: true });
    }
    if (!isAsked || known.openCount === 0) known.openCount++;
    const openMs = isAsked
      ? Math.min(end.askedMs, RULES.askedMaxMs)
      : RULES.openFirstMs * 2 ** Math.min(known.openCount - 1, 10);
    known.openMs = Math.max(known.openMs, nowMs + (isAsked ? openMs : Math.min(openMs, RULES.openMaxMs)));
    known.troubledMs = Math.max(known.troubledMs, known.openMs + RULES.troubleMs);
  }
  if (end.isLimited && nowMs - known.cutMs >= Math.max(RULES.openFirstMs, known.learnedMs)) {
    const slowerMs = 2 * (Math.max(known.isSlow ? 0 : known.learnedMs, rateMs) || RULES.limitedFirstMs);
    Object.assign(known, { learnedMs: Math.min(RULES.learnedMaxMs, slowerMs), isSlow: false, cutMs: nowMs });
  }
}

/** Takes, or gives back, what the call used more or less than it said. */
function settle(known: Known, moreMs: number): void {
  known.tatMs += moreMs;
  if (moreMs < 0) known.v -= moreMs / Math.max(1, activeCount(known));
}
