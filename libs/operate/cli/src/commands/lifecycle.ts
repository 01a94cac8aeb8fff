/** Owns the commands by which a person steers runs: `cancel`, `terminate`, `pause`, `resume`, `pin`, `unpin`, `skip` and `take`, with the author and reason of each. */

import type { Answer } from '@tidemark/client';
import { nextHolder } from '../place/next-holder.ts';
import type { Place } from '../place/place.ts';
import type { ProgramKit } from '../program/program-kit.ts';
import { places, why } from '../program/shared-options.ts';
import { printable } from '../text/width.ts';

const ACTS = [
  [
    'cancel',
    'end a workflow in good order: no further task starts, and what it did is compensated where that is registered',
  ],
  ['terminate', 'end a workflow at once, wherever it runs, without compensating anything'],
  ['pause', 'start no further task of a workflow until it is resumed'],
  ['resume', 'resume a paused workflow'],
] as const;
type Act = (typeof ACTS)[number][0];

const steering = ({ command }: ProgramKit, name: string, description: string) =>
  why(places(command(name, description)));

export function addLifecycle(kit: ProgramKit): void {
  for (const [act, description] of ACTS) {
    steering(kit, act, description)
      .argument('<id>', 'id of the run')
      .action(
        kit.asks('read', (id, { why }) => async ({ client, place, terminal, report }) => {
          const done = await client.run(id)[act](why);
          report(done, `${printable(done.workflow)} ${words(act, done.changed, place)}`);
          const { open_effects: effects = [] } = done as Partial<Answer<'POST /v1/workflows/{workflow}/terminate'>>;
          for (const { operation, idempotency_key: key } of effects) {
            terminal.warn(
              `${printable(operation)} (${printable(key)}) may have been called, and Tidemark no longer finds out whether it happened.`,
            );
          }
        }),
      );
  }
  addJudging(kit);
}

function words(act: Act, changed: boolean, place: Place): string {
  switch (act) {
    case 'cancel':
      return changed
        ? `is being cancelled: ${nextHolder(place)} compensates what it can of it, and ends it.`
        : 'was cancelled before.';
    case 'terminate':
      return changed ? 'has ended: nothing was compensated.' : 'was ended before.';
    case 'pause':
      return changed ? 'is paused: steps under way finish, and nothing further starts.' : 'is paused already.';
    case 'resume':
      return changed ? 'is resumed.' : "isn't paused.";
  }
}

function addJudging(kit: ProgramKit): void {
  const judging = [
    ['skip', 'continue without the unreadable record that stops workflows; read it first', 'continues without'],
    [
      'take',
      "read that record again, once what was missing is back; or accept a workflow's history from before encryption",
      'has taken',
    ],
  ] as const;
  for (const [judgement, description, what] of judging) {
    steering(kit, judgement, description)
      .argument('<ids...>', 'ids of the runs')
      .action(
        kit.asks('read', (ids, { why }) => async ({ client, terminal }) => {
          const judged: Answer<'POST /v1/workflows/{workflow}/judgements'>[] = [];
          try {
            for (const workflow of ids) {
              const input = { params: { workflow }, body: { judgement, why } };
              const done = await client.ask('POST /v1/workflows/{workflow}/judgements', input);
              judged.push(done);
              terminal.line(
                `${printable(done.workflow)} ${what} the record at offset ${done.offset} (${done.problem}).`,
              );
            }
          } finally {
            // Earlier decisions stand even when a later one fails.
            if (judged.length > 0) terminal.answer({ judged });
          }
        }),
      );
  }
}

export function addPinning(kit: ProgramKit): void {
  const pinning = [
    ['pin', 'keep a workflow to the version that it has', 'stays with'],
    ['unpin', 'let a pinned workflow use newer versions', 'may use versions after'],
  ] as const;
  for (const [name, description, what] of pinning) {
    steering(kit, name, description)
      .argument('<id>', 'id of the run')
      .action(
        kit.asks('read', (id, { why }) => async ({ client, report }) => {
          const done = await client.run(id).pin(name === 'pin', why);
          const version = `${printable(done.definition)} v${done.definition_version}`;
          report(done, `${printable(done.workflow)} ${what} ${version}.`);
        }),
      );
  }
}
