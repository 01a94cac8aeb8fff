/** Owns `tidemark jobs`: one action on many workflows, counted beforehand, started, watched and cancelled. */

import { Argument, Option } from '@commander-js/extra-typings';
import type { Answer } from '@tidemark/client';
import { InvalidError, isClosed, type Resolution, type StreamStatus } from '@tidemark/core';
import { EXIT } from '@tidemark/host/exit-codes';
import { BULK_ACTS, type BulkAct, checkMeant } from '@tidemark/runtime/names';
import { nameText, wholeNumber } from '../arguments.ts';
import { readJson } from '../input.ts';
import { JOB_POLL_MS } from '../limits.ts';
import { continuesWith } from '../place/next-holder.ts';
import { addDeclared } from '../program/declared.ts';
import { type FilterOptions, queryOf, withFilters } from '../program/filter-options.ts';
import { type Asked, group, type ProgramKit, type Work } from '../program/program-kit.ts';
import { ofTenant } from '../program/shared-options.ts';
import { takeInterrupts } from '../session.ts';
import { count, counted } from '../text/units.ts';
import { printable } from '../text/width.ts';

type Job = Answer<'GET /v1/jobs/{job}'>;
type JobCount = Answer<'POST /v1/jobs/count'>;

export function addJobs(kit: ProgramKit): void {
  const { asks } = kit;
  const sub = group(kit, 'jobs', 'do one thing to many workflows, durably, with progress');
  addDeclared(kit, 'jobs', sub);
  withFilters(sub('start', 'begin a job over all workflows that the filters find now'))
    .addArgument(new Argument('<act>', 'what is done to each').choices([...BULK_ACTS]))
    .option('--everything', 'all workflows are meant')
    .option('--dry-run', 'print how many it would find, and for reset what it would do to each; and do nothing')
    .option('--signal <name>', "the signal's name, for signal", nameText)
    .option('--value <json>', "the signal's value, or what is entered in a form: JSON, @file, or - for standard input")
    .addOption(
      new Option('--as <resolution>', 'for answer: what the question of each is answered with').choices([
        'retry',
        'done',
        'not-done',
        'compensate',
        'fail',
      ] as const),
    )
    .option('--response <json>', 'with --as done: what the effect in question answered')
    .addOption(
      new Option('--approval <answer>', 'for answer: approvals are answered').choices(['approved', 'rejected']),
    )
    .option('--name <name>', 'for answer: only approvals of this name', nameText)
    .addOption(
      new Option('--effects <how>', 'for reset: what becomes of later calls').choices(['keep', 'undo', 'ask'] as const),
    )
    .option(
      '--at <sequence>',
      'for reset: after this checkpoint; 0: the opening',
      wholeNumber(0, Number.MAX_SAFE_INTEGER),
    )
    .option('--before <step>', 'for reset: before the first checkpoint of this step', nameText)
    .option('--last', 'for reset: after the newest checkpoint')
    .option('--version <version>', 'for reset: run with exactly this version', wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .option('--id <id>', 'id of the job; the same id is the same job (default: a new one)', nameText)
    .option('--by <name>', 'who asks, where state is a folder (default: your name here; a server knows you)')
    .option('--why <text>', 'the reason, kept with each event')
    .option('--watch', 'print its progress until it has ended')
    .action(asks('read', (act, options) => startJob(kit, act, options)));
  ofTenant(sub('watch', 'how far a job is, until it has ended'))
    .argument('<id>', 'id of the job')
    .action(
      asks(
        'read',
        (id, { tenant }) =>
          (asked) =>
            follow(asked, id, tenant),
      ),
    );
}

interface StartOptions extends FilterOptions {
  readonly why?: string;
  readonly id?: string;
  readonly everything?: true;
  readonly signal?: string;
  readonly value?: string;
  readonly as?: Resolution;
  readonly response?: string;
  readonly approval?: 'approved' | 'rejected';
  readonly name?: string;
  readonly effects?: 'keep' | 'undo' | 'ask';
  readonly at?: number;
  readonly before?: string;
  readonly last?: true;
  readonly version?: number;
  readonly dryRun?: true;
  readonly watch?: true;
}

/** Also of `tidemark approve` and `reject`, for many at once. */
export async function startJob(kit: ProgramKit, act: BulkAct, options: StartOptions): Promise<Work> {
  const { tag: tags, ...fields } = queryOf(options);
  const filter = { ...fields, tags };
  const { everything, why, id = crypto.randomUUID() } = options;
  try {
    checkMeant({ ...fields, tags, tenant: undefined }, everything);
  } catch (error) {
    if (!(error instanceof InvalidError)) throw error;
    const message =
      'Say which workflows are meant, by a filter (tidemark jobs start --help lists them; --tenant alone is none), or give --everything.';
    throw new InvalidError(error.code, message, { cause: error });
  }
  const reset = resetOf(act, options);
  if (options.dryRun === true) {
    return async ({ client, report }) => {
      const found = await client.ask('POST /v1/jobs/count', { body: { filter, reset } }, { isRepeatable: true });
      const acted = actedCount(act, found);
      report({ act, dry_run: true, acted_count: acted, ...found }, foundLine(act, found), ...resetLines(found));
    };
  }
  if (why === undefined) {
    throw new InvalidError('why-invalid', '--why: say why it is done; --dry-run alone needs no reason.');
  }
  const body = {
    id,
    act,
    filter,
    why,
    everything,
    signal: await signalOf(kit, act, options),
    reset,
    answer: await answerOf(kit, act, options),
  };
  return async (asked) => {
    const { client, report, place } = asked;
    const done = await client.ask('POST /v1/jobs', { body }, { isRepeatable: true });
    if (options.watch === true) return follow(asked, id, fields.tenant);
    const then = done.created ? continuesWith(place, 'runs') : 'It was begun before.';
    report(done, `Job ${printable(id)} will ${act} what it finds. ${then}`);
  };
}

async function signalOf(kit: ProgramKit, act: BulkAct, { signal, value }: StartOptions) {
  if ((act === 'signal') !== (signal !== undefined)) {
    throw new InvalidError('signal-invalid', "--signal: name it for the act 'signal', and for that one only.");
  }
  if (signal === undefined) return undefined;
  return { name: signal, value: value === undefined ? null : await readJson('--value', value, kit) };
}

/** Throws `InvalidError` (`reset-invalid`). */
function resetOf(act: BulkAct, { effects, at, before, last, version }: StartOptions) {
  if (act !== 'reset') return undefined;
  const isPlaced = [at, before, last].filter((place) => place !== undefined).length === 1;
  if (effects !== undefined && isPlaced) return { effects, at, before, last, version };
  throw new InvalidError('reset-invalid', 'Give --effects keep, undo or ask, and one of --at, --before and --last.');
}

/** Throws `InvalidError` (`answer-invalid`). */
async function answerOf(kit: ProgramKit, act: BulkAct, { as, response, approval, name, value }: StartOptions) {
  if (act !== 'answer') return undefined;
  if ((as === undefined) === (approval === undefined)) {
    throw new InvalidError('answer-invalid', 'Give --approval to answer approvals, or --as to answer questions.');
  }
  const read = (option: string, given: string | undefined) =>
    given === undefined ? undefined : readJson(option, given, kit);
  if (as !== undefined) return { resolution: as, response: await read('--response', response) };
  return { approved: approval === 'approved', name, value: await read('--value', value) };
}

/** What a reset would do to each. */
const resetLines = ({ resets = [] }: JobCount): readonly string[] =>
  resets.map((one) => {
    if ('code' in one) return `  ${printable(one.workflow)}  ${one.code}: ${printable(one.message)}`;
    const of = Map.groupBy(one.calls, ({ becomes }) => becomes);
    const calls = [...of].map(([becomes, all]) => `${count(all.length)} ${becomes}`).join(', ') || 'none';
    return `  ${printable(one.workflow)}  from #${one.sequence_number} on as ${printable(one.run)}; calls: ${calls}`;
  });

/** How many of the found workflows the job acts on. All acts but `retry`, `signal` and `reset` are for open ones alone. */
const actedCount = (act: BulkAct, { count: found, statuses }: JobCount): number =>
  act === 'retry' || act === 'signal' || act === 'reset'
    ? found
    : Object.entries(statuses).reduce(
        (sum, [status, of]) => (isClosed({ status: status as StreamStatus }) ? sum : sum + of),
        0,
      );

function foundLine(act: BulkAct, reported: JobCount): string {
  const { count: found, has_more: hasMore, statuses, newest: some } = reported;
  if (found === 0) return 'Nothing matches: the job would do nothing.';
  const parts = Object.entries(statuses).map(([status, of]) => `${count(of)} ${status}`);
  const newest = some.map(printable).join(', ');
  const all = `${hasMore ? 'More than ' : ''}${counted(found, 'workflow')}`;
  const acted = actedCount(act, reported);
  if (acted < found) {
    const more = hasMore ? 'more than ' : '';
    return `${count(acted)} open of ${more}${count(found)} found would be asked to ${act} (${parts.join(', ')}); the newest found: ${newest}.`;
  }
  return `${all} would be asked to ${act} (${parts.join(', ')}); the newest: ${newest}.`;
}

/** Follows it until it has ended. */
async function follow({ session, client }: Asked, job: string, tenant: string | undefined): Promise<number> {
  // Other commands must not wait for it.
  const { patiently } = await import('../follow/follower.ts');
  const { terminal } = session;
  const { signal, release } = takeInterrupts(session);
  const ask = () => client.ask('GET /v1/jobs/{job}', { params: { job }, query: { tenant } });
  try {
    let reported = '';
    while (!signal.aborted) {
      const found = await patiently(signal, undefined, ask);
      if (found === undefined) break;
      const now = JSON.stringify([found.status, found.done_count, found.refused_count]);
      if (now !== reported) {
        terminal.record(found);
        terminal.line(`${found.status}  ${progressOf(found)}`);
      }
      reported = now;
      if (found.status !== 'open') {
        terminal.lines(refusedLines(found));
        return found.status === 'completed' ? EXIT.ok : EXIT.failed;
      }
      await new Promise((resolve) => setTimeout(resolve, JOB_POLL_MS));
    }
    return EXIT.interrupted;
  } finally {
    release();
  }
}

const progressOf = ({ done_count: done, refused_count: refused }: Job): string =>
  `${count(done)} done, ${count(refused)} refused`;

const refusedLines = ({ refused }: Job): readonly string[] =>
  refused.map(({ workflow, code, message }) => `  ${printable(workflow)}  ${code}: ${printable(message)}`);
