/** Owns the picture of a definition's flow: steps in columns by how far they are from the start, and who may add whom. */

import { plain } from '../text/format.ts';

const [WIDE, HIGH, ACROSS, DOWN] = [132, 28, 178, 42];

export function Flow(props: {
  readonly starts: readonly string[];
  readonly steps: Readonly<Record<string, readonly string[]>>;
  readonly at: readonly string[];
}) {
  const { starts, steps, at } = props;
  const columns = columnsOf(starts, steps);
  const places = new Map(
    columns.flatMap((names, column) =>
      names.map((name, row) => [name, [column * ACROSS + 4, row * DOWN + 14] as const]),
    ),
  );
  const width = columns.length * ACROSS - (ACROSS - WIDE) + 8;
  const height = Math.max(...columns.map(({ length }) => length), 1) * DOWN + 12;
  return (
    <svg
      className="flow"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label="Flow of steps"
    >
      {Object.entries(steps).flatMap(([from, adds]) =>
        adds.map((to) => {
          const [a, b] = [places.get(from), places.get(to)];
          return a === undefined || b === undefined ? null : <path key={`${from} ${to}`} d={edge(a, b)} />;
        }),
      )}
      {[...places].map(([name, [x, y]]) => (
        <g key={name} data-at={at.includes(name)} data-start={starts.includes(name)}>
          <title>{plain(name)}</title>
          <rect x={x} y={y} width={WIDE} height={HIGH} rx={6} />
          <text x={x + WIDE / 2} y={y + HIGH / 2 + 4}>
            {plain(name.length > 18 ? `${name.slice(0, 17)}…` : name)}
          </text>
        </g>
      ))}
    </svg>
  );
}

type NodePoint = readonly [x: number, y: number];

/** Forward from side to side; back, or to itself, over the top. */
function edge([ax, ay]: NodePoint, [bx, by]: NodePoint): string {
  const middle = HIGH / 2;
  if (bx > ax) {
    const from = ax + WIDE;
    const bend = (bx - from) / 2;
    return `M${from} ${ay + middle}C${from + bend} ${ay + middle} ${bx - bend} ${by + middle} ${bx} ${by + middle}`;
  }
  const [from, to] = [ax + WIDE / 2 + 18, bx + WIDE / 2 - 18];
  const top = Math.min(ay, by) - 14;
  return `M${from} ${ay}C${from} ${top} ${to} ${top} ${to} ${by}`;
}

/** The column of each step: the length of the shortest way from the start. Steps that no start leads to stand in the last one. */
export function columnsOf(
  starts: readonly string[],
  steps: Readonly<Record<string, readonly string[]>>,
): readonly (readonly string[])[] {
  const known = new Set(Object.keys(steps));
  const seen = new Set<string>();
  const columns: string[][] = [];
  for (let front = starts.filter((name) => known.has(name)); front.length > 0; ) {
    for (const name of front) seen.add(name);
    columns.push([...new Set(front)]);
    front = [...new Set(front.flatMap((name) => steps[name] ?? []))].filter(
      (name) => known.has(name) && !seen.has(name),
    );
  }
  const rest = [...known].filter((name) => !seen.has(name));
  return rest.length === 0 ? columns : [...columns, rest];
}
