/** Owns `docs/benchmarks.md`: the comparison with the peers as a page and a picture, written from a run's own figures. */

import { readFile, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { quantile } from '../report.ts';
import type { Contender, ContenderName } from './contender.ts';
import {
  type Comparison,
  compared,
  costsOf,
  cpuOf,
  type Entrant,
  isStoredInPart,
  type Line,
  linesOf,
  type Ratio,
  STEP_LEAST_BYTES,
  type Summary,
  storedOf,
  storedOfLarge,
  sumOf,
} from './figures.ts';
import type { Sizes } from './measure.ts';
import { type Panel, plot } from './plot.ts';

const DOCS = path.resolve(import.meta.dirname, '../../../docs');
const PICTURE = 'benchmarks-peers.svg';
/** A part of the page that is written anew, between two marks; the rest of the page is people's. */
interface Section {
  /** It is written where all of these were measured. */
  readonly parts: readonly string[];
  readonly begin: string;
  readonly end: string;
  readonly of: (run: Run) => string;
}
export const sections: readonly Section[] = [
  {
    parts: ['sequential', 'concurrent', 'storage', 'large', 'kill'],
    begin: '<!-- peers: written by `npm run bench -- peers --write` -->',
    end: '<!-- peers: end -->',
    of: (run) => sectionOf(run),
  },
  {
    parts: ['lengths', 'wake'],
    begin: '<!-- peers, runs and wakes: written by `npm run bench -- peers --parts lengths,wake --write` -->',
    end: '<!-- peers, runs and wakes: end -->',
    of: (run) => runsSectionOf(run),
  },
];
const GIGABYTE = 2 ** 30;
/** By how much the bare loop may differ between systems in one run. */
const EVEN_FACTOR_MAX = 1.5;

export interface Run {
  readonly contenders: readonly Pick<
    Contender,
    'name' | 'title' | 'settings' | 'takeOver' | 'wakes' | 'death' | 'isDurableExecution' | 'sequentialWithheld'
  >[];
  readonly summaries: readonly Summary[];
  readonly failures: ReadonlyMap<ContenderName, string>;
  readonly loopNs: readonly number[];
  readonly load: { readonly least: number; readonly most: number };
  readonly dataIn: 'memory' | 'disk';
  readonly passes: number;
  readonly sizes: Sizes;
}

export async function writePage(run: Run, measured: readonly string[]): Promise<void> {
  const file = path.join(DOCS, 'benchmarks.md');
  let page = await readFile(file, 'utf8');
  for (const { parts, begin, end, of } of sections) {
    if (!parts.every((part) => measured.includes(part))) continue;
    const [before, rest = ''] = page.split(begin);
    const after = rest.split(end)[1] ?? '\n';
    page = `${before}${begin}\n\n${of(run)}\n${end}${after}`;
  }
  await writeFile(file, page);
  if (measured.includes('kill')) await writeFile(path.join(DOCS, PICTURE), plot(panelsOf(run)));
}

const rounded = (value: number): string => {
  if (value >= 100) return Math.round(value).toLocaleString('en-GB');
  return String(Number(value.toPrecision(3)));
};

const titles = ({ contenders }: Run): ReadonlyMap<ContenderName, string> =>
  new Map(contenders.map(({ name, title }) => [name, title]));

/** The system's name without its versions. */
const short = (title: string): string => title.replace(/ (JS )?\d.*$/, '').replace(/, (development server|SDK).*$/, '');

type Column = readonly [
  heading: string,
  read: (summary: Summary) => number | undefined,
  /** Of one that was measured. */
  shown?: (summary: Summary) => string,
];

/** Undefined also where it is not published. */
const sequentialOf = ({ contenders }: Run, { name, sequential }: Summary): Summary['sequential'] =>
  contenders.some((each) => each.name === name && each.sequentialWithheld !== undefined) ? undefined : sequential;

function columnsOf(run: Run): readonly Column[] {
  const { sizes } = run;
  return [
    ['sequential step, median ms', (summary) => sequentialOf(run, summary)?.medianMs],
    ['p99 ms', (summary) => sequentialOf(run, summary)?.p99Ms],
    ...sizes.counts.map(
      (count): Column => [
        `steps/s, ${count.toLocaleString('en-GB')} workflows`,
        ({ stepsPerS }) => stepsPerS.get(count),
      ],
    ),
    [`bytes a step, of ${sizes.stepsEach}`, (summary) => storedOf(summary)?.short],
    [`of ${sizes.longSteps.toLocaleString('en-GB')}`, (summary) => storedOf(summary)?.long],
    ['growth', (summary) => storedOf(summary)?.growth],
    ...sizes.largeBytes.flatMap((bytes): Column[] => [
      [`steps/s of ${bytes / 1_024} KB`, ({ large }) => large.get(bytes)?.stepsPerS],
      [`bytes a step of ${bytes / 1_024} KB`, (summary) => storedOfLarge(summary, bytes)],
    ]),
    [
      'kill −9 to next step, median ms (n)',
      ({ kill }) => kill?.medianMs,
      ({ kill }) => `${rounded(kill!.medianMs)} (${kill!.count})`,
    ],
    ['memory, servers MB', ({ memoryMb }) => memoryMb?.servers],
    ['memory, worker MB', ({ memoryMb }) => memoryMb?.worker],
  ];
}

export function sectionOf(run: Run): string {
  const named = titles(run);
  const columns = columnsOf(run);
  const rows = run.summaries.map((summary) => [
    short(named.get(summary.name)!),
    ...columns.map(([, read, shown]) => {
      const value = read(summary);
      if (value === undefined) return '–';
      return shown === undefined ? rounded(value) : shown(summary);
    }),
  ]);
  const head = ['', ...columns.map(([heading]) => heading)];
  const align = ['---', ...columns.map(() => '---:')];
  const table = [head, align, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
  const paragraphs = [
    machineOf(run),
    `![Bars of the figures in the table below](${PICTURE})`,
    table,
    notesOf(run),
    verdictOf(run, named, (name) => !isOfRuns(name)),
    ...failuresOf(run, named),
    costOf(run, named),
    '### How each was run',
    run.contenders
      .map(({ title, settings, takeOver }) => `- **${title}**: ${settings}. After a kill: ${takeOver}.`)
      .join('\n'),
  ];
  return `${paragraphs.join('\n\n')}\n`;
}

const isOfRuns = (line: string): boolean => /len|wake/.test(line);

/** What a run costs besides its steps, and what its wake takes. */
function runsSectionOf(run: Run): string {
  const named = titles(run);
  const paragraphs = [
    machineOf(run),
    ...lengthsOf(run, named),
    ...wakesOf(run, named),
    verdictOf(run, named, isOfRuns),
    ...failuresOf(run, named),
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

/** What must be known before one figure is held against another. */
function notesOf({ contenders, summaries, sizes }: Run): string {
  const those = (death: Contender['death']): string =>
    contenders.flatMap((each) => (each.death === death ? [short(each.title)] : [])).join('; ');
  return [
    ...contenders.flatMap(({ title, sequentialWithheld }) =>
      sequentialWithheld === undefined
        ? []
        : [`Sequential step of ${short(title)}: left out, since ${sequentialWithheld}.`],
    ),
    ...contenders.flatMap(({ title }, at) => {
      const stored = summaries[at]?.bytesPerStep;
      if (stored === undefined || !isStoredInPart(stored)) return [];
      const found = `${rounded(stored.short)} and ${rounded(stored.long)} bytes a step, less than the ${STEP_LEAST_BYTES} of its text alone`;
      return [
        `Storage of ${short(title)}: left out. Its files grew by ${found}: the rest was deleted, or not written to them yet.`,
      ];
    }),
    "No Node process here is given flags of its own. (Tidemark's services limit their heaps by default, so that they hold less memory and clear it more often.)",
    "Tidemark's cluster encrypts payloads, as it does by default, and stands here a second time without that; embedded Tidemark does not, as by default, and no peer here does.",
    `Kill −9: one worker is killed, ${sizes.kills} times; n is the number of workflows that the killed ones ran, and the median is theirs. Some notice a death themselves, and a second worker stands by while workflows run, so that it may have run some (${those('noticed')}); others are told of it at once by the bench, and the successor is loaded and has run nothing (${those('told')}). The two kinds are not compared with each other.`,
  ].join('\n\n');
}

function verdictOf(
  { summaries, contenders, sizes }: Run,
  named: ReadonlyMap<ContenderName, string>,
  isWanted: (line: string) => boolean,
): string {
  const entrants: readonly Entrant[] = contenders.map((traits, at) => ({ traits, summary: summaries[at]! }));
  const lines = linesOf(sizes).flatMap((line) => {
    const comparison = isWanted(line.name) ? compared(entrants, line) : undefined;
    return comparison === undefined ? [] : [`- ${sentenceOf(line, comparison, sizes, named)}`];
  });
  return `Tidemark's cluster beside the best peer of each line (of times and bytes less is better, of rates more), and, where that is BullMQ, which is a queue of jobs and no durable execution, beside the best without it:\n\n${lines.join('\n')}`;
}

function sentenceOf(
  line: Line,
  comparison: Comparison,
  sizes: Sizes,
  named: ReadonlyMap<ContenderName, string>,
): string {
  const [what, relation] = wordsOf(line.name, sizes);
  const nameOf = (name: ContenderName): string => short(named.get(name)!);
  if ('absent' in comparison) {
    const missing = comparison.absent.unmeasured.map(nameOf).join(' and ');
    return `${what}: no ratio, since ${missing} ${comparison.absent.unmeasured.length === 1 ? 'has' : 'have'} no figure`;
  }
  const { best, bestDurable } = comparison;
  const said = ({ value, peer }: Ratio): string => `${value.toFixed(2)} ${relation} ${nameOf(peer)}`;
  if (bestDurable === undefined || bestDurable.peer === best.peer) return `${what}: ${said(best)}`;
  return `${what}: ${said(best)}; ${said(bestDurable)}`;
}

function wordsOf(name: string, { longSteps }: Sizes): readonly [what: string, relation: string] {
  const [, plain, wake, steps, count] = /^(plain_)?(wake\.)?(?:len(\d+)\.)?c(\d+)$/.exec(name) ?? [];
  if (count !== undefined) {
    const kind = plain === undefined ? '' : ', not encrypted';
    if (wake !== undefined) {
      const workflows = count === '1' ? 'one workflow' : `${Number(count).toLocaleString('en-GB')} workflows at once`;
      return [`signal to step of ${workflows}${kind}`, 'times what it takes'];
    }
    const length = steps === undefined ? '' : ` of ${stepsText(Number(steps))}`;
    return [`${Number(count).toLocaleString('en-GB')} workflows${length} at once${kind}`, 'times the steps/s of'];
  }
  switch (name) {
    case 'sequential':
      return ['sequential step', 'times what it takes'];
    case 'cpu':
      return ['processor time for a step', 'times that of'];
    case 'storage1000':
      return [`bytes a step at ${longSteps.toLocaleString('en-GB')} steps`, 'times those of'];
    case 'kill':
      return ['kill −9 to next step, of those that notice a death themselves', 'times what it takes'];
    case 'kill_told':
      return ['kill −9 to next step, embedded Tidemark beside those that are told', 'times what it takes'];
  }
  throw new RangeError(`no words for the line ${name}`);
}

const stepsText = (steps: number): string => (steps === 1 ? 'one step' : `${steps} steps`);

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

/** What a run costs besides its steps. */
function lengthsOf({ summaries, sizes }: Run, named: ReadonlyMap<ContenderName, string>): readonly string[] {
  const measured = summaries.filter(({ lengths }) => lengths.size > 0);
  if (measured.length === 0) return [];
  const shapes = sizes.lengths.flatMap((steps) => sizes.counts.map((count) => ({ steps, count })));
  const head = [
    '',
    ...shapes.map(({ steps, count }) => `${count.toLocaleString('en-GB')} of ${stepsText(steps)}, steps/s`),
    'processor ms a run',
    'and a step',
  ];
  const rows = measured.map((summary) => {
    const costs = costsOf(summary, sizes.stepsEach);
    const values = [
      ...shapes.map(({ steps, count }) => summary.lengths.get(steps)?.stepsPerS.get(count)),
      costs?.perRun,
      costs?.perStep,
    ];
    return [short(named.get(summary.name)!), ...values.map((value) => (value === undefined ? '–' : rounded(value)))];
  });
  const table = [head, ['---', ...shapes.map(() => '---:'), '---:', '---:'], ...rows];
  return [
    'Workflows of other lengths, and what they say of the processor time that a run takes besides its steps:',
    table.map((cells) => `| ${cells.join(' | ')} |`).join('\n'),
  ];
}

function wakesOf(run: Run, named: ReadonlyMap<ContenderName, string>): readonly string[] {
  const { contenders, summaries, sizes } = run;
  const measured = summaries.filter(({ wakes }) => wakes.size > 0);
  if (measured.length === 0) return [];
  const counts = sizes.wakeCounts.map((count) => count.toLocaleString('en-GB'));
  const head = ['', ...counts.flatMap((count) => [`${count} at once, median ms`, 'p99 ms']), 'processor ms a wake'];
  const rows = measured.map(({ name, wakes, cpuMsPerWake }) => {
    const times = sizes.wakeCounts.flatMap((count) => [wakes.get(count)?.medianMs, wakes.get(count)?.p99Ms]);
    const values = [...times, sumOf(cpuMsPerWake)];
    return [short(named.get(name)!), ...values.map((value) => (value === undefined ? '–' : rounded(value)))];
  });
  const table = [head, ['---', ...head.slice(1).map(() => '---:')], ...rows];
  const ways = contenders.flatMap(({ title, wakes }) => (wakes === undefined ? [] : [`${short(title)}: ${wakes}`]));
  const without = contenders.flatMap(({ title, wakes }) => (wakes === undefined ? [short(title)] : []));
  const missing = without.length === 0 ? '' : ` Without such a wait: ${without.join(', ')}.`;
  return [
    `Workflows that have done one step and wait for a signal: from the signals, all sent at once, to the beginning of each one's last step, and the processor time of a wake with that step and the end. How each waits: ${ways.join('; ')}.${missing}`,
    table.map((cells) => `| ${cells.join(' | ')} |`).join('\n'),
  ];
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
    panel(
      'Sequential durable step, median (less is better; log)',
      'ms',
      (summary) => sequentialOf(run, summary)?.medianMs,
    ),
    panel(
      `Stored for a step, at ${run.sizes.longSteps.toLocaleString('en-GB')} steps (less is better)`,
      'B',
      (summary) => storedOf(summary)?.long,
    ),
    panel('Kill −9 to the next step, where the system notices it (less is better; log)', 'ms', ({ name, kill }) =>
      run.contenders.some((each) => each.name === name && each.death === 'noticed') ? kill?.medianMs : undefined,
    ),
  ];
}
