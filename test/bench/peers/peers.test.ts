import { describe, expect, it } from 'vitest';
import { compared, type Entrant, linesOf, type Summary, summaryOf } from './figures.ts';
import { emptyFindings, fullSizes } from './measure.ts';
import { panelsOf, sectionOf, sections } from './page.ts';
import { plot } from './plot.ts';
import { doStep, nextPayload } from './workspace/step.ts';

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

describe('what passes come to', () => {
  it('is the median of all rounds of all passes', () => {
    const together = summaryOf('dbos', [findings([1, 100, 3], [5, 1]), findings([4, 5], [9])]);
    expect(together.stepsPerS.get(1_000)).toBe(4);
    expect(together.sequential).toEqual({ medianMs: 5, p99Ms: 9, p999Ms: 9 });
  });

  it('counts the client of a served system in no memory', () => {
    expect(summary('bullmq', 1).memoryMb).toEqual({ worker: 1, servers: 3 });
  });

  it('leaves out what was not measured', () => {
    const { sequential, kill, bytesPerStep, memoryMb } = summaryOf('restate', [emptyFindings()]);
    expect([sequential, kill, bytesPerStep, memoryMb]).toEqual([undefined, undefined, undefined, undefined]);
  });
});

const traitsOf = (name: Summary['name']) => ({
  name,
  death: ['tidemark-embedded', 'dbos', 'langgraph'].includes(name) ? ('told' as const) : ('noticed' as const),
  isDurableExecution: name !== 'bullmq',
});
const entrant = (name: Summary['name'], rate?: number, killMs: readonly number[] = []): Entrant => {
  const found = { ...(rate === undefined ? emptyFindings() : findings([rate])), killMs: [...killMs] };
  return { traits: traitsOf(name), summary: summaryOf(name, [found]) };
};
const line = (name: string) =>
  linesOf({ counts: [1_000], lengths: [1], wakeCounts: [64] }).find((each) => each.name === name)!;

describe('the ratio to the best peer', () => {
  const all = [
    entrant('tidemark', 300, [300]),
    entrant('tidemark-embedded', 900, [5_000]),
    entrant('dbos', 100, [1_000]),
    entrant('restate', 200, [600]),
    entrant('bullmq', 600, [60_000]),
    entrant('langgraph', 50, [100]),
  ];

  it('takes the largest where more is better, never Tidemark itself, with and without what is no durable execution', () => {
    expect(compared(all, line('c1000'))).toEqual({
      best: { value: 0.5, peer: 'bullmq' },
      bestDurable: { value: 1.5, peer: 'restate' },
    });
  });

  it('takes the least where less is better', () => {
    expect(compared(all, { ...line('c1000'), better: 'less' })).toMatchObject({
      best: { value: 6, peer: 'langgraph' },
    });
  });

  it('holds a death that is noticed against such, and one that is told against such', () => {
    expect(compared(all, line('kill'))).toMatchObject({ best: { value: 0.5, peer: 'restate' } });
    expect(compared(all, line('kill_told'))).toMatchObject({ best: { value: 50, peer: 'langgraph' } });
  });

  it('leaves out a sequential step of which nobody knows what it measures', () => {
    const steps = (name: Summary['name'], ms: number): Entrant => {
      return { traits: traitsOf(name), summary: summaryOf(name, [findings([1], [ms])]) };
    };
    const some = [steps('tidemark', 4), steps('restate', 2), steps('temporal', 1)];
    expect(compared(some, line('sequential'))).toMatchObject({ best: { value: 4, peer: 'temporal' } });
    const [ours, restate, temporal] = some as [Entrant, Entrant, Entrant];
    const withheld = { ...temporal, traits: { ...temporal.traits, sequentialWithheld: 'why' } };
    expect(compared([ours, restate, withheld], line('sequential'))).toMatchObject({
      best: { value: 2, peer: 'restate' },
    });
  });

  it('holds a wake against those that have one', () => {
    const woken = (name: Summary['name'], ms: number, wakes?: string): Entrant => {
      const found = {
        ...emptyFindings(),
        wakes: { tookMs: new Map([[64, [ms, ms, 9 * ms]]]), cpuMsPerWake: new Map() },
      };
      return { traits: { ...traitsOf(name), ...(wakes && { wakes }) }, summary: summaryOf(name, [found]) };
    };
    const some = [woken('tidemark', 4, 'a step'), woken('restate', 2, 'a promise'), entrant('langgraph', 1)];
    expect(some[0]!.summary.wakes.get(64)).toEqual({ medianMs: 4, p99Ms: 36 });
    expect(compared(some, line('wake.c64'))).toMatchObject({ best: { value: 2, peer: 'restate' } });
  });

  it('is absent where a peer has no figure, and says whose', () => {
    expect(compared([...all, entrant('temporal')], line('c1000'))).toEqual({ absent: { unmeasured: ['temporal'] } });
    expect(compared([entrant('tidemark'), ...all.slice(1)], line('kill'))).toEqual({
      absent: { unmeasured: ['tidemark'] },
    });
  });

  it('is not spoken of without a peer, without Tidemark, and where nobody was measured', () => {
    expect(compared(all.slice(0, 2), line('c1000'))).toBeUndefined();
    expect(compared(all.slice(2), line('c1000'))).toBeUndefined();
    expect(compared(all, line('sequential'))).toBeUndefined();
  });
});

describe('the page', () => {
  const described = { settings: 's', takeOver: 't' };
  const run = {
    contenders: [
      { ...traitsOf('tidemark'), title: 'Tidemark, cluster', ...described },
      { ...traitsOf('restate'), title: 'Restate 1.2.3, SDK 4.5.6', ...described },
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
    expect(page).toContain('- 1,000 workflows at once: no ratio, since Restate has no figure');
  });

  it('names the best peer, and the best that is durable execution', () => {
    const some = [
      entrant('tidemark', 300, [300]),
      entrant('restate', 200, [600, 700, 900]),
      entrant('bullmq', 600, [9]),
    ];
    const contenders = some.map(({ traits }) => ({ ...traits, ...described, title: traits.name }));
    const page = sectionOf({
      ...run,
      contenders,
      summaries: some.map(({ summary: each }) => each),
      failures: new Map(),
    });
    expect(page).toContain(
      '1,000 workflows at once: 0.50 times the steps/s of bullmq; 1.50 times the steps/s of restate',
    );
    // Of how many workflows the median is.
    expect(page).toContain('| 700 (3) |');
  });

  it('has what runs and wakes take apart from the rest', () => {
    const found = {
      ...emptyFindings(),
      lengths: new Map([1, 60].map((steps) => [steps, findings([steps])])),
      wakes: { tookMs: new Map([[64, [3]]]), cpuMsPerWake: new Map([['worker', 0.5]]) },
    };
    const contenders = [{ ...run.contenders[0]!, wakes: 'a step' }, run.contenders[1]!];
    const measured = { ...run, contenders, summaries: [summaryOf('tidemark', [found]), run.summaries[1]!] };
    const [main, runs] = sections.map(({ of }) => of(measured));
    expect(main).not.toContain('signal');
    expect(runs).toContain('How each waits: Tidemark, cluster: a step. Without such a wait: Restate.');
    expect(runs).toMatch(/\| Tidemark, cluster \|.* 3 \| 3 \|.* 0\.5 \|/);
    expect(runs).not.toContain('kill');
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
  const given = (id: string, bytes = 1_024) => ({ id, steps: 2, mode: 'quiet' as const, bytes });

  it('makes as much as is asked for, that depends on the workflow, on the last text and on its number', () => {
    const first = nextPayload(given('a'), '', 1);
    expect(first).toHaveLength(1_024);
    expect(nextPayload(given('a', 10_240), '', 1)).toHaveLength(10_240);
    expect(nextPayload(given('a'), first, 2)).toBe(nextPayload(given('a'), first, 2));
    expect(nextPayload(given('a'), first, 2)).not.toBe(nextPayload(given('a'), first, 3));
    expect(nextPayload(given('a'), first, 2)).not.toBe(nextPayload(given('a'), nextPayload(given('a'), '', 7), 2));
    expect(nextPayload(given('a'), '', 1)).not.toBe(nextPayload(given('b'), '', 1));
  });

  it('answers at once where nothing is told', () => {
    expect(doStep(given('a'), 1, '')).toBe(nextPayload(given('a'), '', 1));
  });
});
