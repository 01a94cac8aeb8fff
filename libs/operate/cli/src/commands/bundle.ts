/** Owns `tidemark bundle`: the model calls of a run, what one of them saw, and the comparison of two. */

import type { Client } from '@tidemark/client';
import { type BundleDiff, CorruptError, InvalidError } from '@tidemark/core';
import { wholeNumber } from '../arguments.ts';
import { LIST_MAX_COUNT } from '../limits.ts';
import { firstOf } from '../place/pages.ts';
import { group, type ProgramKit } from '../program/program-kit.ts';
import type { SeenCall } from '../views/bundle.ts';

const number = wholeNumber(1, Number.MAX_SAFE_INTEGER);

export function addBundle(kit: ProgramKit): void {
  const { asks } = kit;
  // Other commands must not wait for it.
  const views = () => import('../views/bundle.ts');
  const inGroup = group(kit, 'bundle', 'show what a model call saw, rebuilt byte for byte; or compare two');
  const sub = (usage: string, what: string, isDefault = false) =>
    inGroup(usage, what, isDefault).argument('<workflow>', 'id of the run');
  sub('show', 'list the model calls of a run; with --at, rebuild what one of them saw', true)
    .option('--at <sequence>', 'the checkpoint that the call led to; the one after the newest: steps under way', number)
    .option('--call <n>', 'the n-th model call of its step (default: 1)', number)
    .option('--messages', 'print the messages')
    .option('--items', 'print what was kept and what was not, and why')
    .action(
      asks('read', (workflow, options) => async ({ client, terminal, report }) => {
        const { bundleLines, callsLines } = await views();
        if (options.at === undefined) {
          const { items: calls, next_cursor } = await firstOf(
            LIST_MAX_COUNT,
            (query) => client.ask('GET /v1/workflows/{workflow}/calls', { params: { workflow }, query }),
            (page) => page.calls,
          );
          report({ calls, next_cursor }, ...callsLines(workflow, calls, terminal));
          return;
        }
        const call = await callAt(client, workflow, options.at, options.call);
        report(call, ...bundleLines(call, options, terminal));
        if (!call.identical) throw differs(call.key);
      }),
    );
  sub('diff', 'show what differs between two bundles')
    .requiredOption('--at <sequence>', 'the checkpoint of the first', number)
    .requiredOption('--to <sequence>', 'the checkpoint of the second', number)
    .option('--call <n>', 'the n-th model call of the first step (default: 1)', number)
    .option('--to-call <n>', 'the n-th model call of the second step (default: 1)', number)
    .option('--other <workflow>', 'the run of the second, where it is another')
    .action(
      asks(
        'read',
        (workflow, { at: sequence, to, call = 1, toCall, other }) =>
          async ({ client, terminal, report }) => {
            const input = { params: { workflow, sequence, call }, query: { to, to_call: toCall, other } };
            const compared = await client.ask(
              'GET /v1/workflows/{workflow}/at/{sequence}/calls/{call}/comparison',
              input,
            );
            if (!compared.identical) throw differs('one of the two calls');
            const { diffLines } = await views();
            report(compared, ...diffLines(compared.difference as unknown as BundleDiff, terminal));
          },
      ),
    );
}

async function callAt(client: Client, workflow: string, sequence: number, number = 1): Promise<SeenCall> {
  const request = { params: { workflow, sequence }, query: { from: number, limit: 1 } };
  const { calls } = await client.ask('GET /v1/workflows/{workflow}/at/{sequence}/calls', request);
  if (calls[0] !== undefined) return calls[0] as SeenCall;
  throw new InvalidError(
    'call-unknown',
    `--call ${number}: the step of checkpoint ${sequence} of ${workflow} made fewer model calls, counted from 1.`,
  );
}

const differs = (what: string): CorruptError =>
  new CorruptError(
    'bundle-differs',
    `The bundle of ${what} is not what was sent. A tokenizer or the rules of assembly have changed, or rows are damaged; rebuild them from the log.`,
  );
