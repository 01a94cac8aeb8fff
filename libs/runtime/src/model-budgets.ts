/**
 * Owns budgets of model calls: what a call reserves is checked against what is left, before it is made. Exceeding one pauses the workflow
 * (`budget_exceeded`), to be resumed once it was raised. Must not write anything.
 */

import {
  BUDGET_EXCEEDED,
  type EffectKey,
  InvalidError,
  type Json,
  type Spend,
  type StreamState,
  type TaskId,
  type TenantId,
} from '@tidemark/core';
import type { Clock, ProjectionStore } from '@tidemark/ports';
import type { Budget, ContextDefinition } from './definition.ts';
import { ParkError } from './step-errors.ts';

export const NO_SPEND: Spend = { tokens: 0, costMicros: 0 };

const plus = (a: Spend, b: Spend | undefined): Spend =>
  b === undefined ? a : { tokens: a.tokens + b.tokens, costMicros: a.costMicros + b.costMicros };

/** What counts of a task's calls: reserved while they are open, spent once they are done; those that came to nothing don't. */
export function spentByTask(state: StreamState, task: TaskId, but?: EffectKey): Spend {
  let sum = NO_SPEND;
  for (const { key, status, spend } of state.frontier.tasks.get(task)?.effects ?? []) {
    if (status !== 'failed' && key !== but) sum = plus(sum, spend);
  }
  return sum;
}

/** All that the workflow has spent, and has reserved now. */
export function spentByWorkflow(state: StreamState, but?: EffectKey): Spend {
  let sum: Spend = { tokens: state.tokens, costMicros: state.costMicros };
  for (const { id } of state.frontier.tasks) sum = plus(sum, spentByTask(state, id, but));
  return sum;
}

interface Call {
  readonly key: EffectKey;
  readonly task: TaskId;
  readonly reserved: Spend;
}

/** Throws `ParkError` (`budget_exceeded`) where the call would exceed a budget of the definition. */
export function checkOwnBudgets(state: StreamState, { budgets }: ContextDefinition, call: Call): void {
  const { key, task } = call;
  const { raised = NO_SPEND } = state;
  refuseOver('call', raisedBy(budgets.call, raised), NO_SPEND, call);
  refuseOver(`step (task ${task})`, raisedBy(budgets.step, raised), spentByTask(state, task, key), call);
  refuseOver(`workflow ${state.workflow}`, raisedBy(budgets.workflow, raised), spentByWorkflow(state, key), call);
}

/** A raise is for the workflow, whichever of its budgets it came up against. */
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

/** A budget of a tenant or a user: of all their workflows together, within the last hour, day or 30 days, or in all. */
export interface SharedBudget extends Budget {
  readonly period: BudgetPeriod;
}

/** The entry of long-term memory that holds the budget of a subject. */
export const BUDGET_KEY = 'budget';

/** Checks what is to be stored as a budget. Throws `InvalidError` (`budget-invalid`) that names the field. */
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

/** What tenant and user may spend, with what they have by now. */
export interface SharedSpend {
  readonly of: string;
  readonly budget: SharedBudget;
  readonly spent: Spend;
}

/** Undefined budgets are left out, so mostly this is empty. `spent` holds what is projected by now. */
export async function sharedSpends(
  { store, clock }: SharedReads,
  tenant: TenantId,
  user: string | undefined,
): Promise<readonly SharedSpend[]> {
  const subjects = [{ of: `tenant ${tenant}`, subject: `tenant:${tenant}`, only: null as string | null }];
  if (user !== undefined) subjects.push({ of: `user ${user}`, subject: `user:${user}`, only: user });
  const found = await Promise.all(
    subjects.map(async ({ of, subject, only }) => {
      const [row] = await store.memories({ tenant, subject, kind: 'state', key: BUDGET_KEY, limit: 1 });
      if (row === undefined) return [];
      const budget = parseBudget(JSON.parse(row.value));
      const sinceMs = budget.period === 'total' ? 0 : clock.nowMs() - PERIODS_MS[budget.period];
      return [{ of, budget, spent: await store.spent(tenant, only, sinceMs) }];
    }),
  );
  return found.flat();
}

/**
 * Throws `ParkError` (`budget_exceeded`). `isReserved`: the call's own reservation is in what was spent already. Two calls that
 * come to the last rest at once are both refused, so that no budget is ever exceeded by what is reserved.
 */
export function checkShared(spends: readonly SharedSpend[], call: Call, isReserved: boolean): void {
  for (const { of, budget, spent } of spends) {
    const before = isReserved
      ? { tokens: spent.tokens - call.reserved.tokens, costMicros: spent.costMicros - call.reserved.costMicros }
      : spent;
    refuseOver(`${of} (${budget.period})`, budget, before, call);
  }
}

const usd = (micros: number): string => `$${(micros / 1_000_000).toFixed(6).replace(/0{1,4}$/, '')}`;

function refuseOver(of: string, budget: Budget, spent: Spend, { key, reserved }: Call): void {
  const over = (['tokens', 'costMicros'] as const).find(
    (unit) => budget[unit] !== undefined && spent[unit] + reserved[unit] > budget[unit],
  );
  if (over === undefined) return;
  const said = (value: number): string => (over === 'tokens' ? `${value} tokens` : usd(value));
  const limit = budget[over]!;
  throw new ParkError(
    BUDGET_EXCEEDED,
    `The budget of ${of} is ${said(limit)}: ${said(spent[over])} are spent or reserved, and this call needs up to ${said(reserved[over])}. Raise it, and the workflow goes on where it stands.`,
    null,
    { budget: of, unit: over, limit, spent: spent[over], reserved: reserved[over], key } as Json,
  );
}
