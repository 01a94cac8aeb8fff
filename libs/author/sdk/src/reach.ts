/**
 * Owns which steps a definition can reach, from its declarations alone.
 *
 * The rule. `flow` says which tasks each step may add; `starts` says which `begin` may add. Where `starts` is left out it
 * is the one step that no other step names, since a workflow must begin somewhere; if there is none (a cycle) or more
 * than one, `starts` must be given. A step that is not reached from `starts` along `flow` is an error. Nothing else can
 * be added: `begin` and every step are held to these declarations by the types and again at run time. So a step that
 * passes may run, and one that fails never could.
 */

import type { DefinitionProblem } from './problem.ts';

export type Flow = { readonly [step: string]: readonly string[] };

/** Steps that no other step names, by type; a step that only names itself is one. */
export type Sources<F extends Flow> = Exclude<keyof F & string, { [S in keyof F]: Exclude<F[S][number], S> }[keyof F]>;

/** What `begin` may add, and the mistakes in that or in the flow. All of `flow`'s names must be steps. */
export function reach(
  flow: Flow,
  declared: readonly string[] | undefined,
): { readonly starts: readonly string[]; readonly problems: readonly DefinitionProblem[] } {
  const starts = declared ?? sources(flow);
  if (declared === undefined && starts.length !== 1) {
    return { starts, problems: [{ code: 'starts-missing', message: startsMissing(starts) }] };
  }
  const reached = new Set(starts);
  for (const step of reached) for (const next of flow[step] ?? []) reached.add(next);
  const problems = Object.keys(flow)
    .filter((step) => !reached.has(step))
    .map((step) => ({
      code: 'step-unreached',
      message: `step ${step} is never reached: name it in the flow of a step before it, or in starts if begin adds it.`,
    }));
  return { starts, problems };
}

function sources(flow: Flow): readonly string[] {
  const named = new Set<string>();
  for (const [step, next] of Object.entries(flow)) for (const name of next) if (name !== step) named.add(name);
  return Object.keys(flow).filter((step) => !named.has(step));
}

function startsMissing(found: readonly string[]): string {
  const where = found.length === 0 ? 'every step is named by another' : `no step names ${found.join(', ')}`;
  const example = (found.length === 0 ? ['a'] : found).map((step) => `'${step}'`).join(', ');
  return `starts is missing: ${where}, so say which of them begin may add, for example starts: [${example}].`;
}
