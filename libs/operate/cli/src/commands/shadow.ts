/** Owns `tidemark shadow status|report|promote|route`: the progress of observing an agent that runs elsewhere, what differs, the next share, and who runs an id. */

import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { Answer } from '@tidemark/client';
import { DURATION_MAX_COUNT, parseDuration } from '@tidemark/core';
import { EXIT } from '@tidemark/host/exit-codes';
import { asShare, SHADOW_OBSERVE_MS, SHADOW_SHARES, SHADOW_WORKFLOWS_MIN } from '@tidemark/runtime/names';
import { wholeNumber } from '../arguments.ts';
import { UsageError } from '../failures.ts';
import { LIST_DEFAULT_COUNT } from '../limits.ts';
import { group, type ProgramKit } from '../program/program-kit.ts';
import { counted, dateTime, duration } from '../text/units.ts';
import { printable } from '../text/width.ts';

const SHADOW = 'GET /v1/shadows/{definition}';
type Shadow = Answer<typeof SHADOW>;

export function addShadow(kit: ProgramKit): void {
  const { asks } = kit;
  const inGroup = group(
    kit,
    'shadow',
    'observe an agent that runs elsewhere, compare, and raise the share that is observed, then that Tidemark runs',
  );
  const sub = (name: string, what: string) =>
    inGroup(name, what).argument('<definition>', 'name of the agent, as it reports');
  sub('status', 'the share that is observed, since when, and how the runs compare in numbers').action(
    asks('read', (definition) => async ({ client, report }) => {
      const shadow = await client.ask(SHADOW, { params: { definition } });
      report(shadow, ...rolloutLines(shadow, Date.now()), ...countLines(shadow));
    }),
  );
  // A difference ends it with 1, as does a refused share.
  sub('report', 'rebuild the observed runs from the log and list where they are not what the agent said').action(
    asks('read', (definition) => async ({ client, report }) => {
      const shadow = await client.ask(SHADOW, { params: { definition }, query: { differences: 'true' } });
      report(shadow, ...countLines(shadow), ...differenceLines(shadow));
      return shadow.difference_count === 0 ? EXIT.ok : EXIT.failed;
    }),
  );
  sub('route', 'who runs the workflow of an id: agent, observed, or tidemark')
    .argument('<id>', "the agent's own id of the run")
    .action(
      asks('write', (definition, id) => async ({ client, report }) => {
        const found = await client.ask('POST /v1/shadows/{definition}/routes/{id}', { params: { definition, id } });
        report(found, found.route);
      }),
    );
  sub('promote', 'observe, or run, another share; the next one only after its observation, and without differences')
    .addOption(
      new Option(
        '--mode <mode>',
        'observe (as without it), or active: Tidemark runs the share itself, which observe without --to ends',
      ).choices(['observe', 'active'] as const),
    )
    .option(
      '--to <percent>',
      `one of ${SHADOW_SHARES.join(', ')}; observe: the present one where it is left out`,
      share,
    )
    .option('--by <name>', 'who decides it, where state is a folder (default: your name here; a server knows you)')
    .addOption(
      new Option('--observe <time>', 'observation that is needed before: 90s, 30m, 24h, 7d')
        .default(SHADOW_OBSERVE_MS, '24h')
        .argParser(milliseconds),
    )
    .option('--runs <count>', 'runs that must have agreed before', wholeNumber(1, 999_999), SHADOW_WORKFLOWS_MIN)
    .action(
      asks('write', (definition, { mode, to: wanted, observe, runs }) => {
        if (wanted === undefined && mode !== 'observe')
          throw new UsageError(`give --to, one of ${SHADOW_SHARES.join(', ')}`);
        const input = { params: { definition }, body: { mode, to: wanted, observe_ms: observe, runs } };
        return async ({ client, report }) => {
          const done = await client.ask('POST /v1/shadows/{definition}/promotions', input);
          const { promoted, from, to, refusals, shadow } = done;
          const name = printable(definition);
          const how = mode === 'active' ? 'run by Tidemark' : 'observed';
          const back =
            wanted === undefined && shadow.active > 0
              ? ' Tidemark begins those that it was told of before, and no others.'
              : '';
          const set = `${name}: ${to} % of its workflows are ${how} from now on (before: ${from} %).${back}`;
          const why = refusals.map(({ message }) => `  - ${message}`);
          if (promoted) report(done, set);
          else report(done, `${name} stays at ${from} %:`, ...why, ...differenceLines(shadow, LIST_DEFAULT_COUNT));
          return promoted ? EXIT.ok : EXIT.failed;
        };
      }),
    );
}

function milliseconds(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined)
    throw new InvalidArgumentError(
      `Give a whole number from 0 to ${DURATION_MAX_COUNT} with a unit: 90s, 30m, 24h, 7d.`,
    );
  return ms;
}

function share(text: string): ReturnType<typeof asShare> {
  try {
    return asShare(/^\d+$/.test(text) ? Number(text) : Number.NaN);
  } catch {
    throw new InvalidArgumentError(`Give one of ${SHADOW_SHARES.join(', ')}.`);
  }
}

function rolloutLines(shadow: Shadow, nowMs: number): readonly string[] {
  const name = printable(shadow.definition);
  const { share, active, since, by, observe_ms: observeMs, runs_min: runsMin } = shadow;
  if (since === null) return [`${name} is not observed: tidemark shadow promote ${name} --to 1 begins.`];
  const needed =
    observeMs === null ? '' : `, after ${duration(observeMs)} of observation and ${counted(runsMin ?? 0, 'run')}`;
  const sinceMs = Date.parse(since);
  return [
    `${name}: ${share} % of its workflows are observed${active === 0 ? '' : `, but for ${active} % that Tidemark runs`}`,
    `  since ${dateTime(sinceMs)} (${duration(nowMs - sinceMs)}), set by ${printable(by ?? '')}${needed}`,
  ];
}

const countLines = ({ steps, agreed, differing, open, incomplete, cut }: Shadow): readonly string[] => [
  `  ${counted(steps, 'step')} compared`,
  `  ${counted(agreed, 'run')} ended and agree, ${differing} differ, ${open} have not ended, ${incomplete} lost reports`,
  ...(cut ? ['  older runs were not compared'] : []),
];

function differenceLines({ differences = [], difference_count }: Shadow, max = differences.length): readonly string[] {
  const lines = differences
    .slice(0, max)
    .map(
      ({ workflow, sequence, path, what }) =>
        `  ${printable(workflow)} at ${sequence}: ${printable(path)} ${printable(what)}`,
    );
  const left = difference_count - lines.length;
  return left > 0 ? [...lines, `  … and ${counted(left, 'more difference')}`] : lines;
}
