/** Owns `tidemark budget show`, `set` and `raise`: what a tenant, a user or a workflow may spend on model calls. */

import type { Answer } from '@tidemark/client';
import { DEFAULT_TENANT, InvalidError } from '@tidemark/core';
import { EXIT } from '@tidemark/host/exit-codes';
import type { BudgetPeriod } from '@tidemark/runtime';
import { continuesWith } from '../place/next-holder.ts';
import { atPlace, type PlaceOptions } from '../place/place.ts';
import type { Session } from '../session.ts';
import { cost, counted } from '../text/units.ts';
import { printable } from '../text/width.ts';

export interface BudgetOptions extends PlaceOptions {
  readonly tenant?: string | undefined;
  readonly user?: string | undefined;
}

export interface SetBudgetOptions extends BudgetOptions {
  readonly tokens?: number | undefined;
  readonly usd?: string | undefined;
  readonly period?: BudgetPeriod | undefined;
  readonly none?: boolean | undefined;
}

export interface RaiseOptions extends PlaceOptions {
  readonly tokens?: number | undefined;
  readonly usd?: string | undefined;
  readonly by?: string | undefined;
  readonly why: string;
}

type Shared = Answer<'GET /v1/budgets'>['budgets'][number];
type Own = Answer<'GET /v1/workflows/{workflow}/budget'>;

export async function budgetShow(session: Session, id: string | undefined, options: BudgetOptions): Promise<number> {
  const found = await atPlace(session, { ...options, how: 'read' }, async ({ client }) => {
    const own = id === undefined ? null : await client.ask(OWN, { params: { workflow: id } });
    // A workflow's limits include those of its tenant and its user.
    const tenant = own?.tenant ?? options.tenant;
    const user = options.user ?? own?.user ?? undefined;
    const query = { ...(tenant !== undefined && { tenant }), ...(user !== undefined && { user }) };
    return { own, tenant, user, ...(await client.ask('GET /v1/budgets', { query })) };
  });
  const { own, user, budgets, tenant = DEFAULT_TENANT } = found;
  const { terminal } = session;
  terminal.answer({ budgets, workflow: own });
  if (own !== null) terminal.line(ownLine(own));
  const asked = [`tenant ${tenant}`, ...(user === undefined ? [] : [`user ${user}`])];
  for (const of of asked) {
    const one = budgets.find((each) => each.of === of);
    terminal.line(one === undefined ? `${printable(of)}: no budget.` : sharedLine(one));
  }
  return EXIT.ok;
}

const OWN = 'GET /v1/workflows/{workflow}/budget';

function sharedLine({ of, tokens, cost_micros: micros, spent, period }: Shared): string {
  const parts = [
    ...(tokens === null ? [] : [`${spent.tokens.toLocaleString('en-US')} of ${counted(tokens, 'token')}`]),
    ...(micros === null ? [] : [`${cost(spent.cost_micros)} of ${cost(micros)}`]),
  ];
  return `${printable(of)}: ${parts.join(', ')} spent ${PERIOD_WORDS[period as BudgetPeriod]}.`;
}

const PERIOD_WORDS: Readonly<Record<BudgetPeriod, string>> = {
  hour: 'within the last hour',
  day: 'within the last day',
  month: 'within the last 30 days',
  total: 'in all',
};

function ownLine({ workflow, spent, raised }: Own): string {
  const more = amounts(raised.tokens, raised.cost_micros);
  const then = more.length === 0 ? '' : `; its budgets were raised by ${more.join(' and ')}`;
  return `${printable(workflow)}: ${counted(spent.tokens, 'token')}, ${cost(spent.cost_micros)} spent or reserved${then}.`;
}

const amounts = (tokens: number, micros: number): readonly string[] => [
  ...(tokens === 0 ? [] : [counted(tokens, 'token')]),
  ...(micros === 0 ? [] : [cost(micros)]),
];

export async function budgetSet(session: Session, options: SetBudgetOptions): Promise<number> {
  const { user, tenant } = options;
  const body = budgetFrom(options);
  const query = { ...(tenant !== undefined && { tenant }), ...(user !== undefined && { user }) };
  const done = await atPlace(session, { ...options, how: 'write' }, ({ client }) =>
    client.ask('PUT /v1/budgets', { query, body }, { isRepeatable: true }),
  );
  const of = done.user === null ? `tenant ${done.tenant}` : `user ${done.user}`;
  const { terminal } = session;
  terminal.answer(done);
  const { tokens, cost_micros: micros, period } = body;
  const parts = [
    ...(tokens === undefined ? [] : [counted(tokens, 'token')]),
    ...(micros === undefined ? [] : [cost(micros)]),
  ];
  if (period === undefined) terminal.line(`${printable(of)} has no budget any more.`);
  else terminal.line(`${printable(of)} may spend ${parts.join(' and ')} ${PERIOD_WORDS[period]}.`);
  return EXIT.ok;
}

interface Budget {
  readonly tokens?: number;
  readonly cost_micros?: number;
  readonly period?: BudgetPeriod;
}

function budgetFrom({ tokens, usd, period, none }: SetBudgetOptions): Budget {
  if (none === true) return {};
  if (tokens === undefined && usd === undefined) {
    throw new InvalidError('budget-invalid', 'Give --tokens, --usd or both; --none takes the budget away.');
  }
  if (period === undefined) {
    throw new InvalidError('budget-invalid', 'Say within what time, with --period hour, day, month or total.');
  }
  return { period, ...(tokens !== undefined && { tokens }), ...(usd !== undefined && { cost_micros: microsOf(usd) }) };
}

export async function budgetRaise(session: Session, workflow: string, options: RaiseOptions): Promise<number> {
  const { tokens = 0, usd = '0', why } = options;
  const cost_micros = microsOf(usd);
  if (tokens === 0 && cost_micros === 0) {
    throw new InvalidError('budget-invalid', 'Give --tokens, --usd or both, above 0.');
  }
  return atPlace(session, { ...options, how: 'read' }, async (place) => {
    const input = { params: { workflow }, body: { tokens, cost_micros, why } };
    const done = await place.client.ask('POST /v1/workflows/{workflow}/budget', input);
    const { terminal } = session;
    terminal.answer(done);
    const parts = amounts(tokens, cost_micros).join(' and ');
    terminal.line(`${printable(done.workflow)} may spend ${parts} more. ${continuesWith(place)}`);
    return EXIT.ok;
  });
}

/** Throws `InvalidError` (`usd-invalid`). Exact: the typed digits never become a binary fraction. */
export function microsOf(usd: string): number {
  const [, dollars, fraction = ''] = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(usd) ?? [];
  if (dollars !== undefined) return Number(dollars) * 1_000_000 + Number(fraction.padEnd(6, '0'));
  throw new InvalidError('usd-invalid', `--usd: give US dollars, such as 5 or 0.25, with at most 6 decimals.`);
}
