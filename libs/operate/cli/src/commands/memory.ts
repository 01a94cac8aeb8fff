/** Owns `tidemark memory` and `tidemark user`: what is known about users, domains and a tenant, and standing preferences of a user. */

import { Option } from '@commander-js/extra-typings';
import type { Answer } from '@tidemark/client';
import { wholeNumber } from '../arguments.ts';
import { readJson } from '../input.ts';
import { addDeclared, addSubject, subjectOf } from '../program/declared.ts';
import { group, type ProgramKit } from '../program/program-kit.ts';
import { ofOwner } from '../program/shared-options.ts';
import { jsonText } from '../text/json.ts';
import { counted } from '../text/units.ts';
import { printable, printableLines } from '../text/width.ts';

/** Most entries that a recall answers. */
const RECALL_MAX_COUNT = 20;

const RECALL = 'POST /v1/memory/{about}/recall';

export function addMemory(kit: ProgramKit): void {
  const { asks } = kit;
  const sub = group(kit, 'memory', 'what is known: facts about users, domains and the tenant; summaries of sessions');
  ofOwner(addSubject(sub('recall', 'find what fits a question, by words, and by meaning where there are embeddings')))
    .argument('<query>', 'what it is about')
    .option('--limit <count>', 'at most this many', wholeNumber(1, RECALL_MAX_COUNT), 3)
    .addOption(new Option('--kind <kind>', 'only these (default: both)').choices(['summary', 'fact']))
    .action(
      asks('read', (query, { limit, kind, tenant, ...of }) => {
        const body = { query, limit, kinds: kind === undefined ? (['summary', 'fact'] as const) : [kind] };
        const input = { params: { about: subjectOf(of) }, query: { tenant }, body };
        return async ({ client, terminal, report }) => {
          const answer = await client.ask(RECALL, input, { isRepeatable: true });
          const { by, warning, entries, continuation = '' } = answer;
          if (warning !== null) terminal.warn(printable(warning));
          const how = by === 'words' ? 'by words alone' : 'by words and meaning';
          const found = entries.length === 0 ? 'Nothing matches' : counted(entries.length, 'entry', 'entries');
          terminal.note(entries.length === 0 ? `${found} (${how}).` : `${found}, ${how}.`);
          const facts = entries.filter(({ kind: of }) => of === 'fact').map(factLine);
          report(answer, ...facts, ...(continuation === '' ? [] : printableLines(continuation)));
        };
      }),
    );
  addDeclared(kit, 'memory', sub);
}

const factLine = ({ value, source, at }: Answer<typeof RECALL>['entries'][number]): string =>
  `- ${printable((value as { readonly text: string }).text)} (${printable(source)}, ${at.slice(0, 'YYYY-MM-DD'.length)})`;

export function addUser(kit: ProgramKit): void {
  const { asks } = kit;
  const inGroup = group(kit, 'user', 'standing preferences of a user');
  const sub = (usage: string, what: string) =>
    ofOwner(inGroup(usage, what)).requiredOption('--user <name>', 'whose memory');
  sub('get', 'print a preference as JSON')
    .argument('<key>', 'its name')
    .action(
      asks('read', (key, { user, tenant }) => async ({ client, report }) => {
        const input = { params: { user, key }, query: { tenant } };
        const found = await client.ask('GET /v1/users/{user}/preferences/{key}', input);
        report(found, jsonText(found.value ?? null));
      }),
    );
  sub('set', 'set a preference')
    .argument('<key>', 'its name')
    .argument('<value>', 'text, JSON, @file, or - for standard input')
    .option('--source <text>', 'who says so (default: who you are)')
    .action(
      asks('write', async (key, given, { user, tenant, source }) => {
        const value = isText(given) ? given : await readJson('VALUE', given, kit);
        const input = { params: { user, key }, query: { tenant }, body: { value, source } };
        return async ({ client, report }) => {
          const done = await client.ask('PUT /v1/users/{user}/preferences/{key}', input, { isRepeatable: true });
          report(done, `${printable(key)} of ${printable(user)} is ${printable(JSON.stringify(value))} now.`);
        };
      }),
    );
  addDeclared(kit, 'user', inGroup);
}

/** Anything but JSON, and what doesn't begin like it, is text. */
const isText = (given: string): boolean => !/^(?:\s*[[{"]|@|-$|\s*(?:true|false|null|-?\d[\d.eE+-]*)\s*$)/.test(given);
