/** Owns `tidemark memory` and `tidemark user`: what is known about users, domains and a tenant, and standing preferences of a user. */

import { type Command, Option, type OptionValues } from '@commander-js/extra-typings';
import type { Answer } from '@tidemark/client';
import { wholeNumber } from '../arguments.ts';
import { UsageError } from '../failures.ts';
import { readJson } from '../input.ts';
import { group, type ProgramKit } from '../program/program-kit.ts';
import { ofOwner } from '../program/shared-options.ts';
import { jsonText } from '../text/json.ts';
import { type Columns, tableOr } from '../text/table.ts';
import { ago, counted } from '../text/units.ts';
import { printable, printableLines } from '../text/width.ts';

/** Most entries that a recall and a list answer. */
const RECALL_MAX_COUNT = 20;
const FACTS_MAX_COUNT = 1_000;

const RECALL = 'POST /v1/memory/{about}/recall';

const about = <A extends unknown[], O extends OptionValues>(command: Command<A, O>) =>
  ofOwner(command)
    .option('--user <name>', 'about this user')
    .option('--about <subject>', "about 'domain:NAME', a field of knowledge, or 'tenant', everybody");

function subjectOf({ user, about }: { readonly user?: string; readonly about?: string }): string {
  if (user !== undefined && about !== undefined) throw new UsageError('Give --user or --about, not both.');
  const subject = about ?? (user === undefined ? undefined : `user:${user}`);
  if (subject !== undefined) return subject;
  throw new UsageError("Say what it is about: --user NAME, or --about 'domain:NAME' or 'tenant'.");
}

export function addMemory(kit: ProgramKit): void {
  const { asks } = kit;
  const sub = group(kit, 'memory', 'what is known: facts about users, domains and the tenant; summaries of sessions');
  about(sub('recall', 'find what fits a question, by words, and by meaning where there are embeddings'))
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
          const found = entries.length === 0 ? 'Nothing fits' : counted(entries.length, 'entry', 'entries');
          terminal.note(entries.length === 0 ? `${found} (${how}).` : `${found}, ${how}.`);
          const facts = entries.filter(({ kind: of }) => of === 'fact').map(factLine);
          report(answer, ...facts, ...(continuation === '' ? [] : printableLines(continuation)));
        };
      }),
    );
  about(sub('remember', 'remember a fact; the same text is the same fact'))
    .argument('<text>', 'the fact, a sentence')
    .option('--source <text>', 'where it is from (default: who you are)')
    .action(
      asks('write', (text, { source, tenant, ...of }) => {
        const about = subjectOf(of);
        const input = { params: { about }, query: { tenant }, body: { text, source } };
        return async ({ client, report }) => {
          const done = await client.ask('POST /v1/memory/{about}/facts', input, { isRepeatable: true });
          report(done, `Remembered of ${printable(about)}, as ${done.key}.`);
        };
      }),
    );
  about(sub('list', 'list facts, newest first'))
    .option('--limit <count>', 'at most this many', wholeNumber(1, FACTS_MAX_COUNT), 50)
    .action(
      asks('read', ({ limit, tenant, ...of }) => {
        const about = subjectOf(of);
        const input = { params: { about }, query: { tenant, limit } };
        return async ({ client, terminal, report }) => {
          const answer = await client.ask('GET /v1/memory/{about}/facts', input);
          const none = `No facts are known about ${printable(about)}.`;
          report(answer, ...tableOr(none, FACTS, answer.facts, terminal.width));
        };
      }),
    );
  about(sub('forget', 'forget a fact'))
    .argument('<key>', 'its key, as list prints it')
    .action(
      asks('read', (key, { tenant, ...of }) => {
        const about = subjectOf(of);
        const input = { params: { about, key }, query: { tenant } };
        return async ({ client, report }) => {
          const done = await client.ask('DELETE /v1/memory/{about}/facts/{key}', input);
          report(done, `Forgot ${printable(key)} of ${printable(about)}.`);
        };
      }),
    );
}

const since = (at: string): string => ago(Date.parse(at), Date.now());

const FACTS: Columns<Answer<'GET /v1/memory/{about}/facts'>['facts'][number]> = [
  ['FACT', ({ text = '' }) => text, 16],
  ['SOURCE', ({ source }) => source, 6],
  ['SINCE', ({ at }) => since(at)],
  ['KEY', ({ key }) => key],
];

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
  sub('list', 'list the preferences')
    .argument('[prefix]', 'only keys that begin so')
    .action(
      asks('read', (prefix, { user, tenant }) => async ({ client, terminal, report }) => {
        const query = { tenant, prefix: prefix === '' ? undefined : prefix };
        const answer = await client.ask('GET /v1/users/{user}/preferences', { params: { user }, query });
        const { preferences } = answer;
        const none = `${printable(user)} has no preferences.`;
        report(answer, ...tableOr(none, PREFERENCES, preferences, terminal.width));
      }),
    );
  sub('forget', 'forget a preference')
    .argument('<key>', 'its name')
    .action(
      asks('read', (key, { user, tenant }) => async ({ client, report }) => {
        const input = { params: { user, key }, query: { tenant } };
        const done = await client.ask('DELETE /v1/users/{user}/preferences/{key}', input);
        report(done, `Forgot ${printable(key)} of ${printable(user)}.`);
      }),
    );
}

const PREFERENCES: Columns<Answer<'GET /v1/users/{user}/preferences'>['preferences'][number]> = [
  ['KEY', ({ key }) => key],
  ['VALUE', ({ value = null }) => JSON.stringify(value), 12],
  ['SOURCE', ({ source }) => source, 6],
  ['SINCE', ({ at }) => since(at)],
];

/** Anything but JSON, and what doesn't begin like it, is text. */
const isText = (given: string): boolean => !/^(?:\s*[[{"]|@|-$|\s*(?:true|false|null|-?\d[\d.eE+-]*)\s*$)/.test(given);
