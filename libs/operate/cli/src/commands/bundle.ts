/** Owns `tidemark bundle`: the model calls of a run, what one of them saw, and the comparison of two. */

import type { Client } from '@tidemark/client';
import { type BundleDiff, CorruptError, InvalidError } from '@tidemark/core';
import { EXIT } from '@tidemark/host/exit-codes';
import { LIST_MAX_COUNT } from '../limits.ts';
import { firstOf } from '../place/pages.ts';
import { atPlace, type PlaceOptions } from '../place/place.ts';
import type { Session } from '../session.ts';
import { bundleLines, callsLines, diffLines, type SeenCall } from '../views/bundle.ts';

export interface BundleOptions extends PlaceOptions {
  /** The checkpoint that the call led to; the one after the newest means steps under way. */
  readonly at?: number | undefined;
  /** Of the model calls of its step, from 1. */
  readonly call?: number | undefined;
  readonly messages?: boolean | undefined;
  readonly items?: boolean | undefined;
}

export interface BundleDiffOptions extends BundleOptions {
  readonly at: number;
  readonly to: number;
  readonly toCall?: number | undefined;
  readonly other?: string | undefined;
}

export function bundle(session: Session, workflow: string, options: BundleOptions): Promise<number> {
  const { terminal } = session;
  return atPlace(session, { ...options, how: 'read' }, async ({ client }) => {
    if (options.at === undefined) {
      const { items: calls, next_cursor } = await firstOf(
        LIST_MAX_COUNT,
        (query) => client.ask('GET /v1/workflows/{workflow}/calls', { params: { workflow }, query }),
        (page) => page.calls,
      );
      terminal.answer({ calls, next_cursor });
      terminal.lines(callsLines(workflow, calls, terminal));
      return EXIT.ok;
    }
    const call = await callAt(client, workflow, options.at, options.call);
    terminal.answer(call);
    terminal.lines(bundleLines(call, options, terminal));
    if (!call.identical) throw differs(call.key);
    return EXIT.ok;
  });
}

export function bundleDiff(session: Session, workflow: string, options: BundleDiffOptions): Promise<number> {
  const { terminal } = session;
  const { at: sequence, to, call = 1, toCall, other } = options;
  return atPlace(session, { ...options, how: 'read' }, async ({ client }) => {
    const compared = await client.ask('GET /v1/workflows/{workflow}/at/{sequence}/calls/{call}/comparison', {
      params: { workflow, sequence, call },
      query: { to, to_call: toCall, other },
    });
    if (!compared.identical) throw differs('one of the two calls');
    terminal.answer(compared);
    terminal.lines(diffLines(compared.difference as unknown as BundleDiff, terminal));
    return EXIT.ok;
  });
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
