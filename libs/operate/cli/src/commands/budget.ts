/** Owns `tidemark budget show`, `set` and `raise`: what a tenant, a user or a workflow may spend on model calls. */

import { type Command, Option, type OptionValues } from '@commander-js/extra-typings';
import type { Answer } from '@tidemark/client';
import { DEFAULT_TENANT, InvalidError } from '@tidemark/core';
import { wholeNumber } from '../arguments.ts';
import { continuesWith } from '../place/next-holder.ts';
import { group, type ProgramKit } from '../program/program-kit.ts';
import { ofOwner, why } from '../program/shared-options.ts';
import { cost, costWords, counted, tokenCell, tokenWords, unknownWords } from '../text/units.ts';
import { printable } from '../text/width.ts';

type Shared = Answer<'GET /v1/budgets'>['budgets'][number];
type Own = Answer<typeof OWN>;

const OWN = 'GET /v1/workflows/{workflow}/budget';

const spends = <A extends unknown[], O extends OptionValues>(command: Command<A, O>) =>
  command
    .option('--tokens <count>', 'tokens', wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .option('--usd <amount>', 'US dollars, such as 5 or 0.25');

export function addBudget(kit: ProgramKit): void {
  const { asks } = kit;
  const sub = group(kit, 'budget', 'what a tenant, a user or a workflow may spend on model calls');
  const shared = (name: string, what: string) =>
    ofOwner(sub(name, what)).option('--user <name>', 'of this user (default: of the tenant)');
  shared('show', 'show budgets and what is spent of them')
    .argument('[workflow]', 'id of a run: what it has spent as well')
    .action(
      asks('read', (id, options) => async ({ client, report }) => {
        const own = id === undefined ? null : await client.ask(OWN, { params: { workflow: id } });
        // A workflow's limits include those of its tenant and its user.
        const tenant = own?.tenant ?? options.tenant;
        const user = options.user ?? own?.user ?? undefined;
        const { budgets } = await client.ask('GET /v1/budgets', { query: { tenant, user } });
        const named = [`tenant ${tenant ?? DEFAULT_TENANT}`, ...(user === undefined ? [] : [`user ${user}`])];
        const lines = named.map((of) => {
          const one = budgets.find((each) => each.of === of);
          return one === undefined ? `${printable(of)}: no budget.` : sharedLine(one);
        });
        report({ budgets, workflow: own }, ...(own === null ? [] : [ownLine(own)]), ...lines);
      }),
    );
  spends(shared('set', 'set the budget of the tenant or of a user, over all their workflows'))
    .addOption(new Option('--period <time>', 'within what time').choices(['hour', 'day', 'month', 'total']))
    .addOption(new Option('--none', 'remove the budget').conflicts(['tokens', 'usd', 'period']))
    .action(
      asks('write', ({ user, tenant, ...wanted }) => {
        const body = budgetFrom(wanted);
        return async ({ client, report }) => {
          const done = await client.ask('PUT /v1/budgets', { query: { tenant, user }, body }, { isRepeatable: true });
          const of = printable(done.user === null ? `tenant ${done.tenant}` : `user ${done.user}`);
          const { tokens, cost_micros: micros, period } = body;
          const parts = [
            tokens === undefined ? [] : counted(tokens, 'token'),
            micros === undefined ? [] : cost(micros),
          ];
          const may = `${of} may spend ${parts.flat().join(' and ')}`;
          report(done, period === undefined ? `${of} has no budget any more.` : `${may} ${PERIOD_WORDS[period]}.`);
        };
      }),
    );
  const raise = ofOwner(sub('raise', 'let a workflow spend more; one that is paused for lack of budget resumes'));
  why(spends(raise).argument('<workflow>', 'id of the run')).action(
    asks('read', (workflow, { tokens = 0, usd = '0', why }) => {
      const cost_micros = microsOf(usd);
      const parts = amounts(tokens, cost_micros).join(' and ');
      if (parts === '') throw new InvalidError('budget-invalid', 'Give --tokens, --usd or both, above 0.');
      const input = { params: { workflow }, body: { tokens, cost_micros, why } };
      return async ({ client, place, report }) => {
        const done = await client.ask('POST /v1/workflows/{workflow}/budget', input);
        report(done, `${printable(done.workflow)} may spend ${parts} more. ${continuesWith(place)}`);
      };
    }),
  );
}

function sharedLine({ of, tokens, cost_micros: micros, spent, period }: Shared): string {
  const parts = [
    ...(tokens === null ? [] : [`${tokenCell(spent) || '0'} of ${counted(tokens, 'token')}`]),
    ...(micros === null ? [] : [`${costWords(spent)} of ${cost(micros)}`]),
  ];
  const besides = unknownWords(spent).map((words) => `; ${words}`);
  return `${printable(of)}: ${parts.join(', ')} spent ${PERIOD_WORDS[period as Period]}${besides.join('')}.`;
}

const PERIOD_WORDS = {
  hour: 'within the last hour',
  day: 'within the last day',
  month: 'within the last 30 days',
  total: 'in all',
} as const;
type Period = keyof typeof PERIOD_WORDS;

function ownLine({ workflow, spent, raised }: Own): string {
  const more = amounts(raised.tokens, raised.cost_micros);
  const then = more.length === 0 ? '' : `; its budgets were raised by ${more.join(' and ')}`;
  const besides = unknownWords(spent).map((words) => `; ${words}`);
  return `${printable(workflow)}: ${tokenWords(spent)}, ${costWords(spent)} spent or reserved${besides.join('')}${then}.`;
}

const amounts = (tokens: number, micros: number): readonly string[] => [
  ...(tokens === 0 ? [] : [counted(tokens, 'token')]),
  ...(micros === 0 ? [] : [cost(micros)]),
];

interface Wanted {
  readonly tokens?: number;
  readonly usd?: string;
  readonly period?: Period;
  readonly none?: true;
}

function budgetFrom({ tokens, usd, period, none }: Wanted) {
  if (none === true) return {};
  if (tokens === undefined && usd === undefined) {
    throw new InvalidError('budget-invalid', 'Give --tokens, --usd or both; --none removes the budget.');
  }
  if (period === undefined) {
    throw new InvalidError('budget-invalid', 'Say within what time, with --period hour, day, month or total.');
  }
  return { period, tokens, cost_micros: usd === undefined ? undefined : microsOf(usd) };
}

/** Throws `InvalidError` (`usd-invalid`). Exact: the typed digits never become a binary fraction. */
export function microsOf(usd: string): number {
  const [, dollars, fraction = ''] = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(usd) ?? [];
  if (dollars !== undefined) return Number(dollars) * 1_000_000 + Number(fraction.padEnd(6, '0'));
  throw new InvalidError('usd-invalid', `--usd: give US dollars, such as 5 or 0.25, with at most 6 decimals.`);
}
