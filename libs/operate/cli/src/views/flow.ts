/**
 * Owns drawing a definition's flow as text: a tree from its starts along what each step may add. A step is unfolded once; later it is only
 * named, with a mark for a way back or for one that is already drawn. Pure.
 */

/** What each step may add, and which steps begin; null: unknown. */
export interface Flow {
  readonly starts: readonly string[] | null;
  readonly flow: Readonly<Record<string, readonly string[]>>;
}

/** Marks behind a step's name: pending tasks and the like. */
export type Marks = (step: string) => string;

interface Drawing {
  readonly flow: Flow['flow'];
  readonly marks: Marks;
  readonly lines: string[];
  readonly drawn: Set<string>;
}

export function flowLines(card: Flow, marks: Marks = () => ''): readonly string[] {
  const drawing: Drawing = { flow: card.flow, marks, lines: [], drawn: new Set() };
  const starts = card.starts ?? sourcesOf(card.flow);
  for (const [at, step] of starts.entries()) draw(drawing, step, '', at === starts.length - 1, [], starts.length === 1);
  return drawing.lines;
}

/** Where the starts are unknown: steps that no other one names. */
function sourcesOf(flow: Flow['flow']): readonly string[] {
  const named = new Set(Object.entries(flow).flatMap(([step, next]) => next.filter((name) => name !== step)));
  const sources = Object.keys(flow).filter((step) => !named.has(step));
  return sources.length === 0 ? Object.keys(flow).slice(0, 1) : sources;
}

function draw(
  drawing: Drawing,
  step: string,
  indent: string,
  isLast: boolean,
  above: readonly string[],
  isRoot: boolean,
): void {
  const branch = isRoot ? '' : isLast ? '└─ ' : '├─ ';
  const label = `${step}${drawing.marks(step)}`;
  if (above.includes(step) || drawing.drawn.has(step)) {
    drawing.lines.push(`${indent}${branch}${step} ${above.includes(step) ? '↺' : '(see above)'}`);
    return;
  }
  drawing.drawn.add(step);
  drawing.lines.push(`${indent}${branch}${label}`);
  const next = drawing.flow[step] ?? [];
  const inner = isRoot ? indent : `${indent}${isLast ? '   ' : '│  '}`;
  for (const [at, name] of next.entries()) {
    draw(drawing, name, inner, at === next.length - 1, [...above, step], false);
  }
}
