/** The plots and the page of `bench -- load`: that they show what was measured, and say of a target what the figures say. */

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Page, targetsOf, writePage } from './page.ts';
import { plotSvg } from './plot.ts';
import type { Sample } from './sampler.ts';

describe('a plot', () => {
  const series = [
    {
      name: 'p99 & more',
      points: [
        [0, 10],
        [1, 1_000],
        [2, 50],
      ] as const,
    },
  ];

  it('draws each series from its first to its last point, with its marks and its target', () => {
    const svg = plotSvg({ title: 'T', unit: 'ms', series, marks: [{ name: 'kill', atMin: [1] }], target: 50 });
    expect(svg).toContain('p99 &amp; more');
    // Zero at the bottom, the largest value at the top, the whole width.
    expect(svg).toContain('d="M64.0 263.9L454.0 54.0L844.0 255.4"');
    expect(svg).toContain('M454.0 54V266');
    expect(svg).toContain('M64 255.4H844');
  });

  it('spaces powers of ten evenly where values range over several', () => {
    const svg = plotSvg({ title: 'T', unit: 'ms', series, isLogarithmic: true });
    expect(svg).toContain('d="M64.0 195.3L454.0 54.0L844.0 145.9"');
  });

  it('names all its series within its width, each in a colour of its own', () => {
    const many = Array.from({ length: 9 }, (_, at) => ({ ...series[0]!, name: `coordinators of kind ${at}` }));
    const svg = plotSvg({ title: 'T', unit: 'MB', series: many, marks: [{ name: 'kill', atMin: [1] }] });
    const texts = [...svg.matchAll(/<text x="([\d.]+)" y="\d+" fill="(#\w+)">([^<]+)</g)];
    expect(texts.map(([, , , name]) => name)).toEqual([...many.map(({ name }) => name), '┊ kill']);
    for (const [, x, , name] of texts) expect(Number(x) + name!.length * 6.2).toBeLessThanOrEqual(860);
    expect(new Set(texts.slice(0, 9).map(([, , fill]) => fill)).size).toBe(9);
  });

  it('is empty, and still a picture, without points', () => {
    expect(plotSvg({ title: 'T', unit: 'ms', series: [] })).toMatch(/^<svg .*<\/svg>\n$/s);
  });
});

const sample = (atMs: number): Sample => ({
  ...{ atMs, tookMs: 1_000, live: 10, checkpoints: 20, commit: { boundsS: [0.01, 0.05], counts: [19, 1] } },
  ...{
    stepToStep: [[10, 20]],
    late: [],
    lagEvents: 3,
    lagMs: 12,
    resumed: 0,
    rejected: {},
    loadAverage: 1,
    slow: null,
  },
});

describe('the page', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-load-page-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('says of each target whether the run reached it, and shows each plot that it names', async () => {
    const page: Page = {
      result: {
        samples: [sample(1_000), sample(2_000)],
        kills: [{ atMs: 1_500, how: 'SIGKILL', target: 'worker-1' }],
        ...{ surprises: [], endedEarly: 'interrupted', startedCount: 10, startedAtMs: 0, judged: undefined },
      },
      figures: [
        { name: 'load.rate_per_s', value: 1_990, unit: 'checkpoints/s' },
        { name: 'load.commit.p99_ms', value: 51, unit: 'ms' },
      ],
      options: {
        ...{ durationMs: 60_000, ratePerS: 2_000, liveCount: 1_000, coordinatorCount: 2, workerCount: 3, seed: 8 },
      },
      loopNs: [2, 2],
      command: 'npm run bench -- load --write',
    };
    await writePage(folder, page);
    const text = await readFile(path.join(folder, 'load.md'), 'utf8');
    expect(text).toContain('| `load.rate_per_s` | 1990 checkpoints/s | 2000 (98 % of it) | yes |');
    expect(text).toContain('| `load.commit.p99_ms` | 51 ms | ≤ 50 ms | **no** |');
    expect(text).toContain('| `load.lost` | not measured | 0 | no |');
    expect(text).toContain('It ended before its time: interrupted');
    const named = [...text.matchAll(/\(load\/(\w+\.svg)\)/g)].map(([, name]) => name!);
    expect(named.toSorted()).toEqual((await readdir(path.join(folder, 'load'))).toSorted());
  });

  it('has a target for each thing that may be lost', () => {
    expect(targetsOf(2_000).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['load.lost', 'load.doubled', 'load.broken_invariants', 'load.rejected_other']),
    );
  });
});
