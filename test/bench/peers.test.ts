import { describe, expect, it } from 'vitest';
import { doStep, nextPayload } from './peers/step.ts';
import { ratioToBest, type Summary, summaryOf } from './peers-figures.ts';
import { emptyFindings, fullSizes } from './peers-measure.ts';
import { panelsOf, sectionOf } from './peers-page.ts';
import { plot } from './peers-plot.ts';

const findings = (rates: readonly number[], sequentialMs: readonly number[] = []) => ({
  ...emptyFindings(),
  sequentialMs: [...sequentialMs],
  stepsPerS: new Map([[1_000, [...rates]]]),
  residentBytes: new Map([
    ['worker', 2 ** 20],
    ['redis', 3 * 2 ** 20],
    ['client', 9 * 2 ** 20],
  ]),
  cpuMsPerStep: new Map([['worker', 0.25]]),
});

const summary = (name: Summary['name'], rate: number): Summary => summaryOf(name, [findings([rate])]);
const rateOf = ({ stepsPerS }: Summary): number | undefined => stepsPerS.get(1_000);

describe('what passes come to', () => {
  it('is the median of all rounds of all passes', () => {
    const together = summaryOf('dbos', [findings([1, 100, 3], [5, 1]), findings([4, 5], [9])]);
    expect(together.stepsPerS.get(1_000)).toBe(4);
    expect(together.sequential).toEqual({ medianMs: 5, p99Ms: 9 });
  });

  it('counts the client of a served system in no memory', () => {
    expect(summary('bullmq', 1).memoryMb).toEqual({ worker: 1, servers: 3 });
  });

  it('leaves out what was not measured', () => {
    const { sequential, kill, bytesPerStep, memoryMb } = summaryOf('restate', [emptyFindings()]);
    expect([sequential, kill, bytesPerStep, memoryMb]).toEqual([undefined, undefined, undefined, undefined]);
  });
});

describe('the ratio to the best peer', () => {
  const all = [
    summary('tidemark', 300),
    summary('tidemark-embedded', 900),
    summary('dbos', 100),
    summary('restate', 200),
  ];

  it('takes the largest where more is better, the least where less is, and never Tidemark itself', () => {
    expect(ratioToBest(all, rateOf, 'more')).toEqual({ value: 1.5, peer: 'restate' });
    expect(ratioToBest(all, rateOf, 'less')).toEqual({ value: 3, peer: 'dbos' });
  });

  it('is below one when a peer is faster', () => {
    const slower = [summary('tidemark', 50), ...all.slice(1)];
    expect(ratioToBest(slower, rateOf, 'more')?.value).toBe(0.25);
  });

  it('is none without a peer, and without Tidemark', () => {
    expect(ratioToBest(all.slice(0, 2), rateOf, 'more')).toBeUndefined();
    expect(ratioToBest(all.slice(2), rateOf, 'more')).toBeUndefined();
  });
});

describe('the page', () => {
  const described = { settings: 's', takeOver: 't' };
  const run = {
    contenders: [
      { name: 'tidemark' as const, title: 'Tidemark, cluster', ...described },
      { name: 'restate' as const, title: 'Restate 1.2.3, SDK 4.5.6', ...described },
    ],
    summaries: [summary('tidemark', 1_234), summaryOf('restate', [emptyFindings()])],
    failures: new Map([['restate' as const, 'no answer']]),
    loopNs: [2, 4],
    load: { least: 0, most: 3 },
    dataIn: 'memory' as const,
    passes: 2,
    sizes: fullSizes,
  };

  it('has a row of each system, a dash for what was not measured, and says who failed', () => {
    const page = sectionOf(run);
    expect(page).toMatch(/\| Tidemark, cluster \|.* 1,234 \|/);
    expect(page).toMatch(/\| Restate \| –/);
    expect(page).toContain('Restate did not come through: no answer.');
    expect(page).toContain('**Restate 1.2.3, SDK 4.5.6**');
  });

  it('says when the machine was not the same for all', () => {
    expect(sectionOf(run)).toContain('2.0 times slower at one system');
    expect(sectionOf({ ...run, loopNs: [2, 3] })).not.toContain('slower at one system');
  });

  it('draws a bar of each value', () => {
    const picture = plot(panelsOf(run));
    expect(picture.match(/class="ours"/g)).toHaveLength(1);
    expect(picture).not.toContain('class="peer"');
    expect(picture).toContain('1,234 /s');
  });
});

describe('a step', () => {
  it('makes 1 KB that depends on the last text and on its number', () => {
    const first = nextPayload('', 1);
    expect(first).toHaveLength(1_024);
    expect(nextPayload(first, 2)).toBe(nextPayload(first, 2));
    expect(nextPayload(first, 2)).not.toBe(nextPayload(first, 3));
    expect(nextPayload(first, 2)).not.toBe(nextPayload(nextPayload('', 7), 2));
  });

  it('answers at once where nothing is told', () => {
    expect(doStep({ id: 'a', steps: 2, mode: 'quiet' }, 1, '')).toBe(nextPayload('', 1));
  });
});
