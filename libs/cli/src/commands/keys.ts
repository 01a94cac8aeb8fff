/** Owns `tidemark keys` and `tidemark forget`: which keys wrap data keys, wrapping them anew, and destroying them for good. */

import { workflowId } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import type { Session } from '../session.ts';
import { table } from '../text/table.ts';
import { count, counted } from '../text/units.ts';
import { printable } from '../text/width.ts';
import { atDesk, type MemoryOptions } from './memory-place.ts';

export interface ForgetOptions extends MemoryOptions {
  readonly workflow?: string | undefined;
  readonly user?: string | undefined;
  readonly by: string;
  readonly why: string;
}

export async function keysShow(session: Session, options: MemoryOptions): Promise<number> {
  const uses = await atDesk(session, options, 'look', (desk) => desk.keys.uses());
  const { terminal } = session;
  terminal.document(
    uses.map((use) => ({
      provider: use.provider,
      wrapped_by: use.wrappedBy,
      is_current: use.isCurrent,
      data_keys: use.count,
    })),
  );
  const columns = [
    { title: 'PROVIDER' },
    { title: 'WRAPPED BY', shrinksTo: 16 },
    { title: 'DATA KEYS', align: 'right' },
    { title: '' },
  ] as const;
  const rows = uses.map(({ provider, wrappedBy, isCurrent, count: many }) => [
    printable(provider),
    printable(wrappedBy),
    count(many),
    isCurrent ? 'current' : 'to be wrapped anew: tidemark keys rewrap',
  ]);
  terminal.lines(uses.length === 0 ? ['No data keys yet.'] : table(columns, rows, { width: terminal.width }));
  return EXIT.ok;
}

export async function keysRotate(session: Session, options: MemoryOptions): Promise<number> {
  const rotated = await atDesk(session, options, 'look', (desk) => desk.keys.rotate());
  const { terminal } = session;
  terminal.document(rotated.map(({ file, wrappedBy }) => ({ file, wrapped_by: wrappedBy })));
  terminal.lines([
    ...rotated.map(({ file, wrappedBy }) => `${printable(file)}: ${wrappedBy} wraps from now on.`),
    'Copy the file to where its copies are, then: tidemark keys rewrap',
  ]);
  return EXIT.ok;
}

export async function keysRewrap(session: Session, options: MemoryOptions): Promise<number> {
  const answer = await atDesk(session, options, 'look', (desk) => desk.keys.rewrap());
  const { terminal } = session;
  terminal.document({
    seen: answer.seenCount,
    rewrapped: answer.rewrappedCount,
    wrong: answer.wrongCount,
    wrong_ids: answer.wrongIds,
  });
  terminal.line(`Wrapped ${counted(answer.rewrappedCount, 'data key')} of ${count(answer.seenCount)} anew.`);
  if (answer.wrongCount > 0) {
    terminal.warn(`${counted(answer.wrongCount, 'data key')} could not be unwrapped: ${answer.wrongIds.join(', ')}`);
  }
  return answer.wrongCount > 0 ? EXIT.corrupt : EXIT.ok;
}

export async function forgetForGood(session: Session, options: ForgetOptions): Promise<number> {
  const { user, by, why } = options;
  const workflow = options.workflow === undefined ? undefined : workflowId(options.workflow);
  const certificate = await atDesk(session, options, 'look', (desk, tenant) =>
    desk.keys.forget({ tenant, workflow, user, by, why }),
  );
  const { terminal } = session;
  const { of, keys, memoryCount, at, leftIn = [] } = certificate;
  terminal.document({ of, state: certificate.state, keys, memories: memoryCount, by, why, at, left_in: leftIn });
  const memories = memoryCount === 0 ? '' : ` and ${counted(memoryCount, 'memory', 'memories')}`;
  terminal.line(
    `Forgotten: ${printable(of)}. ${counted(keys.length, 'data key')}${memories} destroyed at ${at}; the certificate is in the log.`,
  );
  for (const { table, why: reason } of leftIn) {
    terminal.warn(
      `The files of the table ${table} may still hold bytes of it: ${LEFT[reason]}. Run tidemark rebuild, which writes all rows anew, or vacuum full ${table}.`,
    );
  }
  return EXIT.ok;
}

const LEFT = {
  'too-large': 'it is too large to keep everybody waiting until it is written anew',
  'in-use': 'others use it all the time',
  'not-allowed': 'the role of the address is not its owner',
} as const;
