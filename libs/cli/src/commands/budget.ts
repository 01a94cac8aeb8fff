/** Owns `tidemark budget show`, `set` and `raise`: what a tenant, a user or a workflow may spend on model calls. */

import { InvalidError, type Spend, workflowId } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import type { BudgetPeriod, SharedBudget, SharedSpend } from '@tidemark/runtime';
import type { Session } from '../session.ts';
import type { WorkflowSpend } from '../state/memory-desk.ts';
import { requireWorkflow } from '../state/require-workflow.ts';
import { whoGoesOn } from '../state/who-goes-on.ts';
import { cost, counted } from '../text/units.ts';
import { printable } from '../text/width.ts';
import { atDesk, type MemoryOptions, microsOf } from './memory-place.ts';

export interface BudgetOptions extends MemoryOptions {
  readonly user?: string | undefined;
}

export interface SetBudgetOptions extends BudgetOptions {
  readonly tokens?: number | undefined;
  readonly usd?: string | undefined;
  readonly period?: BudgetPeriod | undefined;
  readonly none?: boolean | undefined;
}

export interface RaiseOptions extends MemoryOptions {
  readonly tokens?: number | undefined;
  readonly usd?: string | undefined;
  readonly by: string;
  readonly why: string;
}

export async function budgetShow(session: Session, id: string | undefined, options: BudgetOptions): Promise<number> {
  const { shared, own, ofTenant, user } = await atDesk(session, options, 'look', async (desk, tenant) => {
    const row = id === undefined ? undefined : await requireWorkflow(desk, id);
    const own = row === undefined ? null : await desk.memory.workflowSpend(row.workflow);
    // What a workflow may spend is what its tenant and its user may.
    const [ofTenant, user] = [row?.tenant ?? tenant, options.user ?? own?.user ?? undefined];
    return { own, ofTenant, user, shared: await desk.memory.budgets(ofTenant, user ?? null) };
  });
  const { terminal } = session;
  terminal.document({
    tenant: ofTenant,
    user: user ?? null,
    budgets: shared.map(sharedJson),
    workflow: own && ownJson(own),
  });
  if (own !== null) terminal.line(ownLine(own));
  const asked = [`tenant ${ofTenant}`, ...(user === undefined ? [] : [`user ${user}`])];
  for (const of of asked) {
    const found = shared.find((each) => each.of === of);
    terminal.line(found === undefined ? `${printable(of)}: no budget.` : sharedLine(found));
  }
  return EXIT.ok;
}

const spendJson = ({ tokens, costMicros }: Spend) => ({ tokens, cost_micros: costMicros });

const sharedJson = ({ of, budget, spent }: SharedSpend) => ({
  of,
  period: budget.period,
  tokens: budget.tokens ?? null,
  cost_micros: budget.costMicros ?? null,
  spent: spendJson(spent.settled),
  reserved: spendJson(spent.reserved),
});

const ownJson = ({ workflow, spent, raised }: WorkflowSpend) => ({
  workflow,
  spent: spendJson(spent),
  raised: spendJson(raised),
});

function sharedLine({ of, budget, spent }: SharedSpend): string {
  const parts = [
    ...(budget.tokens === undefined
      ? []
      : [`${spent.settled.tokens.toLocaleString('en-US')} of ${counted(budget.tokens, 'token')}`]),
    ...(budget.costMicros === undefined ? [] : [`${cost(spent.settled.costMicros)} of ${cost(budget.costMicros)}`]),
  ];
  return `${printable(of)}: ${parts.join(', ')} spent ${PERIOD_WORDS[budget.period]}.`;
}

const PERIOD_WORDS: Readonly<Record<BudgetPeriod, string>> = {
  hour: 'within the last hour',
  day: 'within the last day',
  month: 'within the last 30 days',
  total: 'in all',
};

function ownLine({ workflow, spent, raised }: WorkflowSpend): string {
  const more = [
    ...(raised.tokens === 0 ? [] : [counted(raised.tokens, 'token')]),
    ...(raised.costMicros === 0 ? [] : [cost(raised.costMicros)]),
  ];
  const then = more.length === 0 ? '' : `; its budgets were raised by ${more.join(' and ')}`;
  return `${printable(workflow)}: ${counted(spent.tokens, 'token')}, ${cost(spent.costMicros)} spent or reserved${then}.`;
}

export async function budgetSet(session: Session, options: SetBudgetOptions): Promise<number> {
  const { user } = options;
  const budget = budgetFrom(options);
  const tenant = await atDesk(session, options, 'write', async (desk, of) => {
    await desk.memory.setBudget(of, user ?? null, budget);
    return of;
  });
  const of = user === undefined ? `tenant ${tenant}` : `user ${user}`;
  const { terminal } = session;
  terminal.document({
    of,
    budget: budget === null ? null : sharedJson({ of, budget, spent: { settled: NOTHING, reserved: NOTHING } }),
  });
  if (budget === null) terminal.line(`${printable(of)} has no budget any more.`);
  else {
    const parts = [
      ...(budget.tokens === undefined ? [] : [counted(budget.tokens, 'token')]),
      ...(budget.costMicros === undefined ? [] : [cost(budget.costMicros)]),
    ];
    terminal.line(`${printable(of)} may spend ${parts.join(' and ')} ${PERIOD_WORDS[budget.period]}.`);
  }
  return EXIT.ok;
}

const NOTHING: Spend = { tokens: 0, costMicros: 0 };

function budgetFrom({ tokens, usd, period, none }: SetBudgetOptions): SharedBudget | null {
  if (none === true) return null;
  if (tokens === undefined && usd === undefined) {
    throw new InvalidError('budget-invalid', 'Give --tokens, --usd or both; --none takes the budget away.');
  }
  if (period === undefined) {
    throw new InvalidError('budget-invalid', 'Say within what time, with --period hour, day, month or total.');
  }
  return { tokens, costMicros: usd === undefined ? undefined : microsOf(usd), period };
}

export async function budgetRaise(session: Session, id: string, options: RaiseOptions): Promise<number> {
  const { tokens = 0, usd = '0', by, why } = options;
  const raise = { tokens, costMicros: microsOf(usd), by, why };
  if (tokens === 0 && raise.costMicros === 0) {
    throw new InvalidError('budget-invalid', 'Give --tokens, --usd or both, above 0.');
  }
  const then = await atDesk(session, options, 'look', async (desk) => {
    await requireWorkflow(desk, id);
    await desk.memory.raiseBudget(workflowId(id), raise);
    return whoGoesOn(desk);
  });
  const { terminal } = session;
  terminal.document({ workflow: id, tokens, cost_micros: raise.costMicros, by, why });
  const parts = [
    ...(tokens === 0 ? [] : [counted(tokens, 'token')]),
    ...(raise.costMicros === 0 ? [] : [cost(raise.costMicros)]),
  ];
  terminal.line(`${printable(id)} may spend ${parts.join(' and ')} more. ${then}`);
  return EXIT.ok;
}
