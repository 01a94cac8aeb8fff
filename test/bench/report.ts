/** Owns how a benchmark's figures are told: one JSON object a line, or a table for people. Diagnostics go to standard error. */

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
}

export class Report {
  readonly #json: boolean;
  readonly #figures: Figure[] = [];

  constructor(json: boolean) {
    this.#json = json;
  }

  add(name: string, value: number, unit: string): void {
    const figure = { name, value: Number(value.toPrecision(4)), unit };
    this.#figures.push(figure);
    if (this.#json) process.stdout.write(`${JSON.stringify(figure)}\n`);
  }

  /** The figure `name`, which names its `p99`; beside it the same of p99.9, where that rests on more than the slowest value alone. */
  addTail(name: string, values: readonly number[], unit: string): void {
    for (const [tail, value] of tailOf(values)) this.add(name.replace('p99', tail), value, unit);
  }

  note(text: string): void {
    process.stderr.write(`${text}\n`);
  }

  /** The table, where figures were not written already. */
  print(): void {
    if (this.#json) return;
    const width = Math.max(...this.#figures.map((figure) => figure.name.length), 0);
    for (const { name, value, unit } of this.#figures) {
      process.stdout.write(`${name.padEnd(width)}  ${String(value).padStart(10)} ${unit}\n`);
    }
  }
}

/** The value below which the share `q` (0..1) of the values lie. Throws on no values. */
export function quantile(values: readonly number[], q: number): number {
  if (values.length === 0) throw new RangeError('no values were measured');
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * q), sorted.length - 1)]!;
}

/** Below so many values the slowest one alone is their p99.9. */
const P99_9_VALUES_MIN = 1_000;

/** The p99, and the p99.9 where the values suffice, each with its name. */
export const tailOf = (values: readonly number[]): readonly (readonly ['p99' | 'p99_9', number])[] => [
  ['p99', quantile(values, 0.99)],
  ...(values.length < P99_9_VALUES_MIN ? [] : [['p99_9', quantile(values, 0.999)] as const]),
];

export const median = (values: readonly number[]): number => quantile(values, 0.5);
