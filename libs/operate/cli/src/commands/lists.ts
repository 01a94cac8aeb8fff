/** Owns `tidemark fleet`, and the commands that list children, questions, rejected events and definitions. */

import type { Answer } from '@tidemark/client';
import { WAITING_PAGE_COUNT } from '../limits.ts';
import { type Asked, list, type ProgramKit } from '../program/program-kit.ts';
import { limited, modules, ofTenant, places } from '../program/shared-options.ts';
import { type Columns, tableOr } from '../text/table.ts';
import { ago, count, dateTime } from '../text/units.ts';
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
  limited(ofTenant(places(command('questions', 'workflows that wait for a person, newest first')))).action(
    asks('read', ({ tenant, limit }) => async (asked) => {
      const ask = (page: object) => asked.client.ask('GET /v1/questions', { query: { ...page, tenant } });
      const how = { columns: QUESTIONS, none: 'No workflow waits for a person.', pageMax: WAITING_PAGE_COUNT };
      const found = await list(asked, 'questions', limit, ask, how);
      if (found > 0) dim(asked, 'tidemark show ID shows the evidence, and the commands that answer it.');
    }),
  );
  limited(places(command('rejected', 'events that changed nothing, and why, newest first'))).action(
    asks('read', ({ limit }) => async (asked) => {
      const ask = (query: object) => asked.client.ask('GET /v1/rejected', { query });
      const found = await list(asked, 'rejected', limit, ask, { columns: REJECTED, none: 'Nothing was rejected.' });
      if (found > 0) asked.terminal.note('They changed nothing and are kept for audit; most follow from take-overs.');
    }),
  );
  modules(kit, places(command('definitions', 'workflows that can be started here'))).action(
    asks('write', () => async ({ client, terminal, report }) => {
      const answer = await client.ask('GET /v1/definitions', {});
      const { definitions } = answer;
      const none = 'No definitions are known here: name modules with --workflows.';
      report(answer, ...tableOr(none, DEFINITIONS, definitions, terminal.width));
    }),
  );
}

const dim = ({ terminal }: Asked, text: string): void => terminal.note(terminal.paintNote('dim', text));

const since = (at: string): string => ago(Date.parse(at), Date.now());

const CHILDREN: Columns<Answer<'GET /v1/workflows/{workflow}/children'>['children'][number]> = [
  ['CHILD', ({ workflow }) => workflow],
  ['WORKFLOW', (row) => `${row.definition} v${row.definition_version}`, 10],
  ['STATUS', ({ status }) => status],
  ['CHECKPOINTS', (row) => count(row.sequence_number), 'right'],
  ['CHANGED', (row) => since(row.updated_at)],
  ['LAST ACTION', lastWords, 11],
];

const QUESTIONS: Columns<Answer<'GET /v1/questions'>['questions'][number]> = [
  ['WORKFLOW', ({ workflow }) => workflow.workflow],
  ['OF', ({ workflow: row }) => `${row.definition} v${row.definition_version}`, 10],
  ['ASKS', ({ workflow }) => workflow.reason ?? ''],
  ['SINCE', ({ workflow }) => since(workflow.updated_at)],
  ['SAYS', ({ question }) => question.message ?? '', 20],
];

const REJECTED: Columns<Answer<'GET /v1/rejected'>['rejected'][number]> = [
  ['AT', ({ at }) => (at === null ? '–' : dateTime(Date.parse(at)))],
  ['PARTITION', ({ partition }) => String(partition), 'right'],
  ['OFFSET', ({ offset }) => String(offset), 'right'],
  ['WORKFLOW', ({ workflow }) => workflow ?? '–', 12],
  ['TYPE', ({ type }) => type ?? '–'],
  ['REASON', ({ reason }) => reason],
];

const namesOf = (of: object | null): string => (of === null ? '–' : Object.keys(of).join(', '));

const DEFINITIONS: Columns<Answer<'GET /v1/definitions'>['definitions'][number]> = [
  ['WORKFLOW', ({ name }) => name],
  ['VERSION', ({ version }) => String(version), 'right'],
  ['STEPS', ({ flow }) => namesOf(flow), 16],
  ['SIGNALS', ({ signals }) => namesOf(signals), 8],
];
