/**
 * Owns budgets of model calls: before each call, its reservation is checked against what is left. A call over a budget parks the workflow
 * (`budget_exceeded`), which resumes once the budget is raised. It writes nothing.
 */

import {
  BUDGET_EXCEEDED,
  type EffectKey,
  InvalidError,
  isOpen,
  type Json,
  mostSpent,
  NO_SPEND,
  plusSpend,
  type Spend,
  type StreamState,
  type TaskId,
  type TenantId,
} from '@tidemark/core';
import type { Clock, ProjectionStore, Spends } from '@tidemark/ports';
import { type Budget, ContendedError, type ContextDefinition, ParkError } from '../definition/index.ts';
import { BUDGET_ENTRY } from '../kernel/index.ts';

/** What a task's calls have cost, failed ones included, and what running ones may cost. The reservation of the call `but` is left out. */
function spendsOfTask(state: StreamState, task: TaskId, but?: EffectKey): Spends {
  let [settled, reserved] = [NO_SPEND, NO_SPEND];
  for (const effect of state.frontier.tasks.get(task)?.effects ?? []) {
    settled = plusSpend(settled, effect.wasted);
    if (!isOpen(effect)) settled = plusSpend(settled, effect.spend);
    else if (effect.key !== but) reserved = plusSpend(reserved, effect.spend);
  }
  return { settled, reserved };
}

function spendsOfWorkflow(state: StreamState, but?: EffectKey): Spends {
  // A budget covers all runs of the workflow.
  let settled = plusSpend(state, state.spentBefore);
  let reserved = NO_SPEND;
  for (const { id } of state.frontier.tasks) {
    const task = spendsOfTask(state, id, but);
    settled = plusSpend(settled, task.settled);
    reserved = plusSpend(reserved, task.reserved);
  }
  return { settled, reserved };
}

const sumOf = ({ settled, reserved }: Spends): Spend => plusSpend(settled, reserved);

/** What a task's calls have cost, and may cost. */
export const spentByTask = (state: StreamState, task: TaskId): Spend => sumOf(spendsOfTask(state, task));

/** Everything that the workflow has spent, and has reserved now. */
export const spentByWorkflow = (state: StreamState): Spend => sumOf(spendsOfWorkflow(state));

interface Call {
  readonly key: EffectKey;
  readonly task: TaskId;
  readonly reserved: Spend;
  /** The model has no price. */
  readonly isUnpriced: boolean;
}

/**
 * Throws `ParkError` (`budget_exceeded`, `model-unpriced`) when the call would exceed a budget of the definition; `ContendedError` as
 * `checkShared` does.
 */
export function checkOwnBudgets(state: StreamState, { budgets }: ContextDefinition, call: Call): void {
  const { key, task } = call;
  const { raised = NO_SPEND } = state;
  checkOne('call', raisedBy(budgets.call, raised), NO_SPENDS, call);
  checkOne(`step (task ${task})`, raisedBy(budgets.step, raised), spendsOfTask(state, task, key), call);
  checkOne(`workflow ${state.workflow}`, raisedBy(budgets.workflow, raised), spendsOfWorkflow(state, key), call);
}

const NO_SPENDS: Spends = { settled: NO_SPEND, reserved: NO_SPEND };

/** `reserved`: by other calls. */
function checkOne(of: string, budget: Budget, { settled, reserved }: Spends, call: Call): void {
  if (call.isUnpriced && budget.costMicros !== undefined) throw unpriced(of, call);
  refuseOver(of, budget, settled, call);
  const over = isOver(budget, plusSpend(settled, reserved), call.reserved);
  if (over !== undefined) {
    const needed = { reserved: call.reserved[over], key: call.key };
    throw new ContendedError(of, { budget: of, unit: over, limits: limitsOf(budget), ...needed });
  }
}

const unpriced = (of: string, { key }: Call): ParkError =>
  new ParkError(
    'model-unpriced',
    `The budget of ${of} is in money, and the model has no price, so the budget can't be enforced. Give the model a price (priceTable), or budget tokens, and answer with retry.`,
    null,
    { budget: of, key },
  );

/** A raise applies to each of the workflow's budgets. */
const raisedBy = ({ tokens, costMicros }: Budget, raised: Spend): Budget => ({
  tokens: tokens === undefined ? undefined : tokens + raised.tokens,
  costMicros: costMicros === undefined ? undefined : costMicros + raised.costMicros,
});

const PERIODS_MS = {
  hour: 3_600_000,
  day: 86_400_000,
  month: 30 * 86_400_000,
  total: Number.POSITIVE_INFINITY,
} as const;
export type BudgetPeriod = keyof typeof PERIODS_MS;

/** A budget of a tenant or user, for all their workflows together, within the last hour, day or 30 days, or in total. */
export interface SharedBudget extends Budget {
  readonly period: BudgetPeriod;
}

/** Checks a budget before it is stored. Throws `InvalidError` (`budget-invalid`), which names the field. */
export function parseBudget(value: unknown): SharedBudget {
  const refuse = (field: string, given: unknown, remedy: string): never => {
    throw new InvalidError('budget-invalid', `budget, ${field} is ${JSON.stringify(given)}: ${remedy}.`, { field });
  };
  if (typeof value !== 'object' || value === null)
    return refuse('value', value, 'give { tokens?, costMicros?, period }');
  const { tokens, costMicros, period } = value as Record<string, unknown>;
  for (const [field, limit] of [
    ['tokens', tokens],
    ['costMicros', costMicros],
  ] as const) {
    if (limit !== undefined && !(Number.isSafeInteger(limit) && (limit as number) >= 0)) {
      refuse(field, limit, 'give a whole number from 0, or leave it out');
    }
  }
  if (tokens === undefined && costMicros === undefined) refuse('tokens', tokens, 'give tokens, costMicros or both');
  if (typeof period !== 'string' || !Object.hasOwn(PERIODS_MS, period)) {
    refuse('period', period, `give one of ${Object.keys(PERIODS_MS).join(', ')}`);
  }
  return { tokens, costMicros, period } as SharedBudget;
}

interface SharedReads {
  readonly store: Pick<ProjectionStore, 'memories' | 'spent'>;
  readonly clock: Pick<Clock, 'nowMs'>;
}

/** A budget of a tenant or user, and what is spent of it. */
export interface SharedSpend {
  readonly of: string;
  readonly budget: SharedBudget;
  readonly spent: Spends;
}

/** Subjects without a budget are omitted, so the result is mostly empty. `spent` has what is projected by now. */
export async function sharedSpends(
  { store, clock }: SharedReads,
  tenant: TenantId,
  user: string | undefined,
): Promise<readonly SharedSpend[]> {
  const subjects = [{ of: `tenant ${tenant}`, subject: `tenant:${tenant}`, only: null as string | null }];
  if (user !== undefined) subjects.push({ of: `user ${user}`, subject: `user:${user}`, only: user });
  const found = await Promise.all(
    subjects.map(async ({ of, subject, only }) => {
      const [row] = await store.memories({ tenant, subject, ...BUDGET_ENTRY, limit: 1 });
      if (row === undefined) return [];
      const budget = parseBudget(JSON.parse(row.value));
      const sinceMs = budget.period === 'total' ? 0 : clock.nowMs() - PERIODS_MS[budget.period];
      return [{ of, budget, spent: await store.spent(tenant, only, sinceMs) }];
    }),
  );
  return found.flat();
}

/**
 * Throws `ParkError` (`budget_exceeded`) when what is spent leaves too little for the call, and `ContendedError` when only others'
 * reservations do. `isReserved`: the call's own reservation is among the projected ones. A budget is never exceeded: of two calls that need
 * the same rest at once, each sees the other's reservation, and both retry.
 */
export function checkShared(spends: readonly SharedSpend[], call: Call, isReserved: boolean): void {
  for (const { of, budget, spent } of spends) {
    const others = isReserved ? minus(spent.reserved, call.reserved) : spent.reserved;
    checkOne(`${of} (${budget.period})`, budget, { settled: spent.settled, reserved: others }, call);
  }
}

/**
 * What the parked workflow's call needs of a shared budget, by the question's evidence. Undefined: the workflow's own budget was too small.
 */
export function sharedWantIn(evidence: Json | undefined): Spend | undefined {
  const { budget, unit, reserved } = (evidence ?? {}) as Record<string, unknown>;
  if (typeof budget !== 'string' || typeof reserved !== 'number' || !/^(?:tenant|user) /.test(budget)) return undefined;
  return { ...NO_SPEND, [unit === 'tokens' ? 'tokens' : 'costMicros']: reserved };
}

/** What is left of the budgets of tenants and users: what rows said when they were first read, minus what `take` has taken since. */
export class SharedRoom {
  readonly #reads: SharedReads;
  readonly #spends = new Map<string, Promise<readonly SharedSpend[]>>();
  readonly #taken = new Map<string, Spend>();

  constructor(reads: SharedReads) {
    this.#reads = reads;
  }

  /** Takes the amount from each budget that it counts against, if all of them have enough. */
  async take({ tenant, user }: { readonly tenant: TenantId; readonly user?: string | undefined }, want: Spend) {
    const whose = JSON.stringify([tenant, user]);
    const asked = this.#spends.get(whose) ?? sharedSpends(this.#reads, tenant, user);
    this.#spends.set(whose, asked);
    const spends = (await asked).map((one) => ({ ...one, name: JSON.stringify([tenant, one.of]) }));
    const takenOf = (name: string): Spend => this.#taken.get(name) ?? NO_SPEND;
    const isShort = spends.some(
      ({ name, budget, spent }) => isOver(budget, plusSpend(sumOf(spent), takenOf(name)), want) !== undefined,
    );
    if (isShort) return false;
    for (const { name } of spends) this.#taken.set(name, plusSpend(takenOf(name), want));
    return true;
  }
}

const minus = (a: Spend, b: Spend): Spend => ({
  ...a,
  tokens: a.tokens - b.tokens,
  costMicros: a.costMicros - b.costMicros,
});

const UNITS = ['tokens', 'costMicros'] as const;

/** The units that the budget limits. */
const limitsOf = (budget: Budget): Json => UNITS.filter((unit) => budget[unit] !== undefined);

/** The unit in which the call would exceed the budget. What may have been spent is held as if it were. */
function isOver(budget: Budget, spent: Spend, reserved: Spend): 'tokens' | 'costMicros' | undefined {
  const most = mostSpent(spent);
  return UNITS.find((unit) => budget[unit] !== undefined && most[unit] + reserved[unit] > budget[unit]);
}

const usd = (micros: number): string => `$${(micros / 1_000_000).toFixed(6).replace(/0{1,4}$/, '')}`;

function refuseOver(of: string, budget: Budget, spent: Spend, { key, reserved }: Call): void {
  const over = isOver(budget, spent, reserved);
  if (over === undefined) return;
  const said = (value: number): string => (over === 'tokens' ? `${value} tokens` : usd(value));
  const limit = budget[over]!;
  const { unknownCalls = 0 } = spent;
  const unknown = mostSpent(spent)[over] - spent[over];
  const perhaps =
    unknown === 0
      ? ''
      : `, up to ${said(unknown)} more may have been by calls without an answer (${unknownCalls}: whether they were paid for is unknown)`;
  throw new ParkError(
    BUDGET_EXCEEDED,
    `The budget of ${of} is ${said(limit)}: ${said(spent[over])} are spent or reserved${perhaps}, and this call needs up to ${said(reserved[over])}. Raise it, and the workflow resumes where it stopped.`,
    null,
    {
      ...{ budget: of, unit: over, limits: limitsOf(budget), limit },
      ...{ spent: spent[over], unknown, reserved: reserved[over], key },
    },
  );
}
