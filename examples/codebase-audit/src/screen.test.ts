import { describe, expect, it } from 'vitest';
import { LINE_EVERY_MS } from './limits.ts';
import { plural, Screen } from './screen.ts';

function screenOf(isTTY: boolean, columns = 60) {
  const written: string[] = [];
  let nowMs = 0;
  const screen = new Screen({ write: (text) => written.push(text), isTTY, columns }, () => nowMs);
  const progress = (done: number, ms = 0) => {
    nowMs += ms;
    screen.progress({ done, total: 200, checkpoint: done + 1, text: `parsed file-${done}.ts` });
  };
  return { screen, written, progress };
}

describe('on a terminal', () => {
  it('draws one bar anew, within the width, and puts lines above it', () => {
    const { screen, written, progress } = screenOf(true);
    progress(0);
    progress(50, 1_000);
    screen.line('told');
    progress(200, 1_000);
    screen.endProgress();
    screen.line('after');
    const text = written.join('');
    expect(text.match(/\n/g)).toHaveLength(3);
    expect(text).toContain('\r\x1b[2Ktold\n[######');
    expect(text.endsWith('\nafter\n')).toBe(true);
    for (const drawn of text.split(/[\r\n]/)) expect(drawn.replace('\x1b[2K', '').length).toBeLessThan(60);
  });

  it('counts the speed from what was there at first', () => {
    const { written, progress } = screenOf(true, 120);
    progress(100);
    progress(120, 2_000);
    expect(written.at(-1)).toContain('] 60 %  120/200 files  checkpoint 121  10 files/s  parsed file-120.ts'.slice(1));
  });
});

describe('where the output is no terminal', () => {
  it('writes a line every few percent, and when much time has passed', () => {
    const { written, progress } = screenOf(false);
    for (let done = 0; done <= 200; done++) progress(done);
    expect(written).toHaveLength(21);
    expect(written[0]).toMatch(/^\[-{24}\] {3}0 % {2}0\/200 files {2}checkpoint 1 {2}parsed file-0.ts\n$/);
    expect(written.at(-1)).toContain('100 %  200/200 files');
    progress(200, LINE_EVERY_MS);
    expect(written).toHaveLength(22);
    expect(written.join('')).not.toContain('\r');
  });
});

it('counts things in words', () => {
  expect([plural(1, 'file'), plural(1_234, 'file'), plural(0, 'summary', 'summaries')]).toEqual([
    '1 file',
    '1,234 files',
    '0 summaries',
  ]);
});
