/** Owns `docs/benchmarks.md`: the comparison with the peers as a page and a picture, written from a run's own figures. */

import { readFile, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Contender, ContenderName } from './peers-contender.ts';
import { cpuOf, type Ratio, ratioToBest, type Summary } from './peers-figures.ts';
import type { Sizes } from './peers-measure.ts';
import { type Panel, plot } from './peers-plot.ts';
import { quantile } from './report.ts';

const DOCS = path.resolve(import.meta.dirname, '../../docs');
const PICTURE = 'benchmarks-peers.svg';
/** What stands between the two in the page is written anew; the rest is people's. */
const BEGIN = '<!-- peers: written by `npm run bench -- peers --write` -->';
const END = '<!-- peers: end -->';
const GIGABYTE = 2 ** 30;
/** By how much the bare loop may differ between systems in one run. */
const EVEN_FACTOR_MAX = 1.5;

export interface Run {
  readonly contenders: readonly Pick<Contender, 'name' | 'title' | 'settings' | 'takeOver'>[];
  readonly summaries: readonly Summary[];
  readonly failures: ReadonlyMap<ContenderName, string>;
  readonly loopNs: readonly number[];
  readonly load: { readonly least: number; readonly most: number };
  readonly dataIn: 'memory' | 'disk';
  readonly passes: number;
  readonly sizes: Sizes;
}

export async function writePage(run: Run): Promise<void> {
  const file = path.join(DOCS, 'benchmarks.md');
  const page = await readFile(file, 'utf8');
  const [before, rest = ''] = page.split(BEGIN);
  const after = rest.split(END)[1] ?? '\n';
  await writeFile(file, `${before}${BEGIN}\n\n${sectionOf(run)}\n${END}${after}`);
  await writeFile(path.join(DOCS, PICTURE), plot(panelsOf(run)));
}

const rounded = (value: number): string => {
  if (value >= 100) return Math.round(value).toLocaleString('en-GB');
  return String(Number(value.toPrecision(3)));
};

const titles = ({ contenders }: Run): ReadonlyMap<ContenderName, string> =>
  new Map(contenders.map(({ name, title }) => [name, title]));

/** The system's name without its versions. */
const short = (title: string): string => title.replace(/ (JS )?\d.*$/, '').replace(/, (development server|SDK).*$/, '');

type Column = readonly [heading: string, read: (summary: Summary) => number | undefined];

function columnsOf({ sizes }: Run): readonly Column[] {
  return [
    ['sequential step, median ms', ({ sequential }) => sequential?.medianMs],
    ['p99 ms', ({ sequential }) => sequential?.p99Ms],
    ...sizes.counts.map(
      (count): Column => [
        `steps/s, ${count.toLocaleString('en-GB')} workflows`,
        ({ stepsPerS }) => stepsPerS.get(count),
      ],
    ),
    [`bytes a step, of ${sizes.stepsEach}`, ({ bytesPerStep }) => bytesPerStep?.short],
    [`of ${sizes.longSteps.toLocaleString('en-GB')}`, ({ bytesPerStep }) => bytesPerStep?.long],
    ['growth', ({ bytesPerStep }) => (bytesPerStep === undefined ? undefined : bytesPerStep.long / bytesPerStep.short)],
    ['kill −9 to next step, median ms', ({ kill }) => kill?.medianMs],
    ['memory, servers MB', ({ memoryMb }) => memoryMb?.servers],
    ['memory, worker MB', ({ memoryMb }) => memoryMb?.worker],
  ];
}

export function sectionOf(run: Run): string {
  const named = titles(run);
  const columns = columnsOf(run);
  const rows = run.summaries.map((summary) => [
    short(named.get(summary.name)!),
    ...columns.map(([, read]) => {
      const value = read(summary);
      return value === undefined ? '–' : rounded(value);
    }),
  ]);
  const head = ['', ...columns.map(([heading]) => heading)];
  const align = ['---', ...columns.map(() => '---:')];
  const table = [head, align, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
  const paragraphs = [
    machineOf(run),
    `![Bars of the figures in the table below](${PICTURE})`,
    table,
    verdictOf(run, named),
    ...failuresOf(run, named),
    costOf(run, named),
    '### How each was run',
    run.contenders
      .map(({ title, settings, takeOver }) => `- **${title}**: ${settings}. After a kill: ${takeOver}.`)
      .join('\n'),
  ];
  return `${paragraphs.join('\n\n')}\n`;
}

function machineOf({ loopNs, load, dataIn, passes, sizes }: Run): string {
  const cpus = os.cpus().length;
  const medium =
    dataIn === 'memory'
      ? 'the data of every store in a memory file system (synced as on a disk, where a store syncs)'
      : 'the data of every store on the same disk';
  const loops = `${quantile(loopNs, 0.5).toFixed(1)} ns (${Math.min(...loopNs).toFixed(1)} to ${Math.max(...loopNs).toFixed(1)}; an idle core of 2 GHz takes about 2)`;
  return `One run: ${passes} ${passes === 1 ? 'pass' : 'passes'} over all systems, ${sizes.rounds} rounds each, medians of all rounds. ${cpus} cores shared by servers, worker and client, ${Math.round(os.totalmem() / GIGABYTE)} GB, Node ${process.versions.node}, ${medium}. A bare loop took ${loops} a turn, at a load of ${load.least.toFixed(0)} to ${load.most.toFixed(0)}: compare the systems with each other, not with other machines.${unevenOf(loopNs)}`;
}

/** Whoever was measured while the machine did something else looks slow: then rates and times can't be compared. */
function unevenOf(loopNs: readonly number[]): string {
  const factor = Math.max(...loopNs) / Math.min(...loopNs);
  if (factor <= EVEN_FACTOR_MAX) return '';
  return ` **The machine was ${factor.toFixed(1)} times slower at one system than at another: of this run only bytes and processor time can be compared.**`;
}

function verdictOf({ summaries, sizes }: Run, named: ReadonlyMap<ContenderName, string>): string {
  const sentence = (what: string, relation: string, ratio: Ratio | undefined): readonly string[] =>
    ratio === undefined ? [] : [`- ${what}: ${ratio.value.toFixed(2)} ${relation} ${short(named.get(ratio.peer)!)}`];
  const long = sizes.longSteps.toLocaleString('en-GB');
  const lines = [
    ...sentence(
      'sequential step',
      'times what it takes',
      ratioToBest(summaries, ({ sequential }) => sequential?.medianMs, 'less'),
    ),
    ...sizes.counts.flatMap((count) =>
      sentence(
        `${count.toLocaleString('en-GB')} workflows at once`,
        'times the steps/s of',
        ratioToBest(summaries, ({ stepsPerS }) => stepsPerS.get(count), 'more'),
      ),
    ),
    ...sentence('processor time for a step', 'times that of', ratioToBest(summaries, cpuOf, 'less')),
    ...sentence(
      `bytes a step at ${long} steps`,
      'times those of',
      ratioToBest(summaries, ({ bytesPerStep }) => bytesPerStep?.long, 'less'),
    ),
    ...sentence(
      'kill −9 to next step',
      'times what it takes',
      ratioToBest(summaries, ({ kill }) => kill?.medianMs, 'less'),
    ),
  ];
  return `Tidemark's cluster beside the best peer of each line (of times and bytes less is better, of rates more):\n\n${lines.join('\n')}`;
}

function failuresOf({ failures }: Run, named: ReadonlyMap<ContenderName, string>): readonly string[] {
  if (failures.size === 0) return [];
  return [[...failures].map(([name, why]) => `${short(named.get(name)!)} did not come through: ${why}.`).join(' ')];
}

function costOf({ summaries, sizes }: Run, named: ReadonlyMap<ContenderName, string>): string {
  const most = sizes.counts.at(-1)!.toLocaleString('en-GB');
  const lines = summaries
    .filter(({ cpuMsPerStep }) => cpuMsPerStep.size > 0)
    .map((summary) => {
      const { name, cpuMsPerStep } = summary;
      const parts = [...cpuMsPerStep].map(([process, ms]) => `${process} ${ms.toFixed(3)}`).join(', ');
      return `- ${short(named.get(name)!)}: ${cpuOf(summary)!.toFixed(3)} (${parts})`;
    });
  return `Processor milliseconds for a step at ${most} workflows, of all processes together and of each:\n\n${lines.join('\n')}`;
}

export function panelsOf(run: Run): readonly Panel[] {
  const named = titles(run);
  const most = run.sizes.counts.at(-1)!;
  const panel = (title: string, unit: string, read: (summary: Summary) => number | undefined): Panel => ({
    title,
    isLogarithmic: title.endsWith('; log)'),
    bars: run.summaries.flatMap((summary) => {
      const value = read(summary);
      if (value === undefined) return [];
      const isOurs = summary.name.startsWith('tidemark');
      return [{ label: short(named.get(summary.name)!), value, text: `${rounded(value)} ${unit}`, isOurs }];
    }),
  });
  return [
    panel(`Steps a second, ${most.toLocaleString('en-GB')} workflows (more is better)`, '/s', ({ stepsPerS }) =>
      stepsPerS.get(most),
    ),
    panel('Sequential durable step, median (less is better; log)', 'ms', ({ sequential }) => sequential?.medianMs),
    panel(
      `Stored for a step, at ${run.sizes.longSteps.toLocaleString('en-GB')} steps (less is better)`,
      'B',
      ({ bytesPerStep }) => bytesPerStep?.long,
    ),
    panel('Kill −9 to the next step, median (less is better; log)', 'ms', ({ kill }) => kill?.medianMs),
  ];
}
