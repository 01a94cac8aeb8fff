/** Owns `tidemark fleet`, and the commands that list children, questions, rejected events and definitions. */

import type { Answer } from '@tidemark/client';
import { addDeclared } from '../program/declared.ts';
import { list, type ProgramKit } from '../program/program-kit.ts';
import { limited, modules, ofTenant, places } from '../program/shared-options.ts';
import { type Columns, tableOr } from '../text/table.ts';
import { ago, count } from '../text/units.ts';
import { printable } from '../text/width.ts';
import { lastWords } from '../views/activity.ts';

export function addLists(kit: ProgramKit): void {
  const { command, asks } = kit;
  ofTenant(places(command('fleet', 'state of the fleet: counts, workers, queues, lag, cost'))).action(
    asks('read', ({ tenant }) => async ({ client, terminal, report }) => {
      const { fleetLines, readFleet } = await import('../live/fleet-frame.ts');
      const found = await readFleet(client, tenant);
      const frame = { width: terminal.width ?? 100, paint: terminal.paint, known: new Set<string>() };
      report({ ...found.fleet, queues: found.queues }, ...fleetLines(found, frame));
    }),
  );
  limited(places(command('children', 'workflows that the tasks of one have started')))
    .argument('<id>', 'id of the run')
    .action(
      asks('read', (workflow, { limit }) => async (asked) => {
        const ask = (query: object) =>
          asked.client.ask('GET /v1/workflows/{workflow}/children', { params: { workflow }, query });
        const none = `${printable(workflow)} has started no children.`;
        await list(asked, 'children', limit, ask, { columns: CHILDREN, none });
      }),
    );
  addDeclared(kit, 'errors');
  addDeclared(kit, 'questions');
  addDeclared(kit, 'rejected');
  modules(kit, places(command('definitions', 'workflows that can be started here'))).action(
    asks('look', () => async ({ client, terminal, report }) => {
      const answer = await client.ask('GET /v1/definitions', {});
      const { definitions } = answer;
      const none = 'No definitions are known here: name modules with --workflows.';
      report(answer, ...tableOr(none, DEFINITIONS, definitions, terminal.width));
    }),
  );
}

const since = (at: string): string => ago(Date.parse(at), Date.now());

const CHILDREN: Columns<Answer<'GET /v1/workflows/{workflow}/children'>['children'][number]> = [
  ['CHILD', ({ workflow }) => workflow],
  ['WORKFLOW', (row) => `${row.definition} v${row.definition_version}`, 10],
  ['STATUS', ({ status }) => status],
  ['CHECKPOINTS', (row) => count(row.sequence_number), 'right'],
  ['CHANGED', (row) => since(row.updated_at)],
  ['LAST ACTION', lastWords, 11],
];

const namesOf = (of: object | null): string => (of === null ? '–' : Object.keys(of).join(', '));

const DEFINITIONS: Columns<Answer<'GET /v1/definitions'>['definitions'][number]> = [
  ['WORKFLOW', ({ name }) => name],
  ['VERSION', ({ version }) => String(version), 'right'],
  ['STEPS', ({ flow }) => namesOf(flow), 16],
  ['SIGNALS', ({ signals }) => namesOf(signals), 8],
];
