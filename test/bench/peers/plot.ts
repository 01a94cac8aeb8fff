/** Owns the picture of the comparison: a panel of bars for each figure, as SVG without scripts, readable on a light and a dark page. */

import { escaped, linear, logarithmic } from '../svg.ts';

export interface Bar {
  readonly label: string;
  readonly value: number;
  /** As it is written beside the bar. */
  readonly text: string;
  readonly isOurs: boolean;
}

export interface Panel {
  readonly title: string;
  /** Of values that lie decades apart: lengths follow their logarithm, and the title must say so. */
  readonly isLogarithmic?: boolean;
  readonly bars: readonly Bar[];
}

const WIDTH = 860;
const PANEL_GAP = 24;
const COLUMN = (WIDTH - 3 * PANEL_GAP) / 2;
const LABEL_WIDTH = 130;
const VALUE_WIDTH = 76;
const BAR_HEIGHT = 16;
const BAR_GAP = 8;
const TITLE_HEIGHT = 34;
const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #1f2937 }
  .title { font-weight: 600; font-size: 13px }
  .paper { fill: #ffffff }
  .ours { fill: #0e7490 }
  .peer { fill: #9ca3af }
  @media (prefers-color-scheme: dark) {
    text { fill: #e5e7eb } .paper { fill: #111827 } .ours { fill: #22d3ee } .peer { fill: #6b7280 }
  }`;

/** Two panels beside one another in each row. Bars are as long as their values, from zero, where a panel is not logarithmic. */
export function plot(panels: readonly Panel[]): string {
  const heights = panels.map(({ bars }) => TITLE_HEIGHT + bars.length * (BAR_HEIGHT + BAR_GAP));
  const parts: string[] = [];
  let top = PANEL_GAP;
  for (let at = 0; at < panels.length; at += 2) {
    for (const side of [0, 1]) {
      const panel = panels[at + side];
      if (panel !== undefined) parts.push(drawn(panel, PANEL_GAP + side * (COLUMN + PANEL_GAP), top));
    }
    top += Math.max(heights[at]!, heights[at + 1] ?? 0) + PANEL_GAP;
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top}" width="${WIDTH}" height="${top}" role="img">`,
    `<style>${STYLE}\n</style>`,
    `<rect class="paper" width="${WIDTH}" height="${top}"/>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n');
}

function drawn({ title, bars, isLogarithmic = false }: Panel, left: number, top: number): string {
  const values = bars.map(({ value }) => value);
  const { share } = isLogarithmic ? logarithmic(values) : linear(values);
  const room = COLUMN - LABEL_WIDTH - VALUE_WIDTH;
  const lines = bars.map(({ label, value, text, isOurs }, index) => {
    const y = top + TITLE_HEIGHT + index * (BAR_HEIGHT + BAR_GAP);
    const x = left + LABEL_WIDTH;
    const length = Math.max(1, share(value) * room).toFixed(1);
    const baseline = y + BAR_HEIGHT - 4;
    return [
      `<text x="${x - 8}" y="${baseline}" text-anchor="end">${escaped(label)}</text>`,
      `<rect class="${isOurs ? 'ours' : 'peer'}" x="${x}" y="${y}" width="${length}" height="${BAR_HEIGHT}" rx="2"/>`,
      `<text x="${(x + Number(length) + 6).toFixed(1)}" y="${baseline}">${escaped(text)}</text>`,
    ].join('');
  });
  return [`<text class="title" x="${left}" y="${top + 14}">${escaped(title)}</text>`, ...lines].join('\n');
}
