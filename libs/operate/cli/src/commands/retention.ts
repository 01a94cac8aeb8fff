/** Owns `tidemark retention`: how long a tenant's archived history is kept, and legal holds, which override that. */

import { Option } from '@commander-js/extra-typings';
import type { Answer } from '@tidemark/client';
import { duration } from '../arguments.ts';
import { UsageError } from '../failures.ts';
import { addDeclared } from '../program/declared.ts';
import { group, type ProgramKit } from '../program/program-kit.ts';
import { ofOwner } from '../program/shared-options.ts';
import { type Columns, tableOf } from '../text/table.ts';
import { duration as durationText } from '../text/units.ts';

type Retention = Answer<'GET /v1/retention'>;

const FOREVER = 'forever';

export function addRetention(kit: ProgramKit): void {
  const { asks } = kit;
  const inGroup = group(kit, 'retention', 'how long a tenant’s archived history is kept, and what is held');
  const sub = (usage: string, what: string, isDefault = false) => ofOwner(inGroup(usage, what, isDefault));
  sub('show', 'the tenant’s policy and its holds', true).action(
    asks('read', ({ tenant }) => async ({ client, terminal, report }) => {
      const answer = await client.ask('GET /v1/retention', { query: { tenant } });
      const { holds } = answer;
      const held = holds.length === 0 ? [] : ['', ...tableOf(HOLDS, holds, terminal.width)];
      report(answer, policyLine(answer), ...held);
    }),
  );
  sub('set', 'give the tenant a policy of its own')
    .addOption(new Option('--warm <time>', 'then segments move to the cold store: 30d').argParser(duration))
    .addOption(
      new Option('--keep <time>', `then they are deleted permanently: 365d, or ${FOREVER}`).argParser((text: string) =>
        text === FOREVER ? null : duration(text),
      ),
    )
    .option('--default', 'that of the compactors again')
    .action(
      asks('write', ({ tenant, warm, keep, default: isDefault = false }) => {
        if (isDefault ? warm !== undefined || keep !== undefined : warm === undefined || keep === undefined) {
          throw new UsageError('give --warm and --keep, or --default alone');
        }
        const policy = isDefault ? null : { warm_ms: warm!, keep_ms: keep! };
        const input = { query: { tenant }, body: { policy } };
        return async ({ client, report }) => {
          const done = await client.ask('PUT /v1/retention', input, { isRepeatable: true });
          report(done, 'Compactors keep to it from their next pass on.');
        };
      }),
    );
  addDeclared(kit, 'retention', inGroup);
}

function policyLine({ policy }: Retention): string {
  if (policy === null) return 'No policy of its own: TIDEMARK_WARM and TIDEMARK_KEEP of the compactors decide.';
  const then = policy.keep_ms === null ? 'kept for ever' : `deleted after ${durationText(policy.keep_ms)}`;
  return `Warm for ${durationText(policy.warm_ms)}, ${then}.`;
}

const HOLDS: Columns<Retention['holds'][number]> = [
  ['HOLD', ({ hold }) => hold],
  ['OF', ({ workflow }) => workflow ?? 'all of the tenant'],
  ['BY', ({ by }) => by],
  ['WHY', ({ why }) => why, 16],
];
