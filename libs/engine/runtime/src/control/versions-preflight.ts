/**
 * Owns the check of a build before its rollout: whether it could run a workflow from its newest checkpoint. Pure: it applies the same
 * upcasters, schemas and steps as a claim, to copies, and writes nothing.
 */

import { isClosed, type Json, type StreamState, streamFromJson, TidemarkError, type WorkflowId } from '@tidemark/core';
import type { StreamSnapshot } from '@tidemark/ports';
import { type Definition, errorNote, hasBegun, ParkError } from '../definition/index.ts';
import { definitionFor, resolveTask, StreamContent } from '../history/index.ts';
import { queuedAs } from '../lease/index.ts';

/** Example ids that a preflight gives for a group or a problem. */
export const PREFLIGHT_EXAMPLES_MAX_COUNT = 5;
/** Different problems that a preflight reports of one group, so that its size does not grow with the number of workflows. */
export const PREFLIGHT_PROBLEMS_MAX_COUNT = 20;

/**
 * `safe`: the build can run it. `needs-upcaster`: the build can't run it until it can read what is stored. `pin`: only the workflow's
 * current version can run it, so that version must be kept running.
 */
export type PreflightVerdict = 'safe' | 'needs-upcaster' | 'pin';

/** A reason why the build can't run it. */
export interface PreflightProblem {
  /** `definition`, `version`, `input`, `belief`, `task price`. */
  readonly where: string;
  /** Path of the wrong value, such as `items[3].price`; empty: the whole value, or no value is wrong. */
  readonly path: string;
  readonly message: string;
}

export interface Preflight {
  readonly workflow: WorkflowId;
  readonly definition: string;
  readonly version: number;
  readonly verdict: PreflightVerdict;
  /** Empty where it is safe. */
  readonly problems: readonly PreflightProblem[];
}

/** Checks one workflow. Undefined if no worker will claim it again, since it is closed or a shadow. */
export function preflight(snapshot: StreamSnapshot, definitions: readonly Definition[]): Preflight | undefined {
  const state = streamFromJson(snapshot.state, snapshot.tasks);
  if (isClosed(state) || state.shadow) return undefined;
  // An undo reads nothing that depends on a version: it can run wherever the definition can whose workflow it compensates.
  const isUndo = queuedAs(state.definition) !== state.definition;
  const definition = queuedAs(state.definition);
  const judged = { workflow: snapshot.workflow, definition, version: state.version };
  const found = definitionFor(definitions, { ...state, definition });
  if (found === undefined) return { ...judged, ...notRunnable(definitions, { ...state, definition }) };
  const problems = isUndo ? [] : contentProblems(StreamContent.from(snapshot, state), found, state);
  return { ...judged, verdict: problems.length === 0 ? 'safe' : 'needs-upcaster', problems };
}

/** The verdict on a workflow whose version none of the build's definitions can run. */
function notRunnable(
  definitions: readonly Definition[],
  { definition, version, pinned }: { readonly definition: string; readonly version: number; readonly pinned: boolean },
): Pick<Preflight, 'verdict' | 'problems'> {
  const versions = definitions.filter(({ name }) => name === definition).map((each) => each.version);
  const pin = (where: string, message: string) =>
    ({ verdict: 'pin', problems: [{ where, path: '', message }] }) as const;
  if (versions.length === 0) return pin('definition', `the build has no workflow named ${definition}`);
  const newest = Math.max(...versions);
  if (pinned) return pin('version', `it is pinned to v${version}, and the build has v${newest}`);
  if (newest < version) return pin('version', `the build has v${newest}, which is older: versions only go forward`);
  const message = `the build has v${newest}, and no chain of upcasters from v${version} to it`;
  return { verdict: 'needs-upcaster', problems: [{ where: 'version', path: '', message }] };
}

function contentProblems(
  content: StreamContent,
  definition: Definition,
  state: StreamState,
): readonly PreflightProblem[] {
  const upcast = problemsIn('belief', () => content.upcast(definition, state));
  return [
    ...upcast,
    // Checked even for the same version: its schema may have changed.
    ...(upcast.length > 0 || !hasBegun(state)
      ? []
      : problemsIn('belief', () => definition.parseBelief(content.belief))),
    ...(upcast.length > 0 ? [] : problemsIn('input', () => definition.parseInput(content.input))),
    ...[...state.frontier.tasks].flatMap(({ id, step }) =>
      problemsIn(`task ${step}`, () => {
        const resolved = resolveTask(definition, content.versionOf(id), step, content.inputOf(id));
        resolved.step.parseInput(resolved.input);
      }),
    ),
  ];
}

/** The problems that the check throws, with paths where the schema gives them. */
function problemsIn(where: string, check: () => unknown): readonly PreflightProblem[] {
  try {
    check();
    return [];
  } catch (error) {
    const part = error instanceof ParkError && error.code === 'input-not-upcast' ? 'input' : where;
    const named = error instanceof ParkError ? (error.evidence as { problems?: Json }).problems : undefined;
    const listed = named ?? (error instanceof TidemarkError ? (error.details.problems as Json) : undefined);
    if (!Array.isArray(listed)) return [{ where: part, path: '', message: errorNote(error).message }];
    return (listed as readonly { readonly path: string; readonly problem: string }[]).map(({ path, problem }) => ({
      where: part,
      path,
      message: problem,
    }));
  }
}

/** Workflows of one definition, version and verdict. */
export interface PreflightGroup {
  readonly definition: string;
  readonly version: number;
  readonly verdict: PreflightVerdict;
  readonly count: number;
  readonly examples: readonly WorkflowId[];
  /** The first `PREFLIGHT_PROBLEMS_MAX_COUNT` different ones, with how many workflows have each. */
  readonly problems: readonly (PreflightProblem & {
    readonly count: number;
    readonly examples: readonly WorkflowId[];
  })[];
}

interface Gathered {
  count: number;
  readonly examples: WorkflowId[];
}

/** Summarizes checks; its size grows with the number of definitions and versions, not with that of workflows. */
export class PreflightReport {
  readonly #groups = new Map<
    string,
    Gathered & { readonly of: Preflight; readonly problems: Map<string, Gathered & { readonly of: PreflightProblem }> }
  >();

  add(judged: Preflight): void {
    const { definition, version, verdict, workflow } = judged;
    const key = `${verdict} ${version} ${definition}`;
    let group = this.#groups.get(key);
    if (group === undefined) {
      group = { of: judged, count: 0, examples: [], problems: new Map() };
      this.#groups.set(key, group);
    }
    count(group, workflow);
    const own = new Map(judged.problems.map((problem) => [JSON.stringify(problem), problem]));
    for (const [text, problem] of own) {
      let known = group.problems.get(text);
      if (known === undefined && group.problems.size < PREFLIGHT_PROBLEMS_MAX_COUNT) {
        known = { of: problem, count: 0, examples: [] };
        group.problems.set(text, known);
      }
      if (known !== undefined) count(known, workflow);
    }
  }

  get isSafe(): boolean {
    return [...this.#groups.values()].every(({ of }) => of.verdict === 'safe');
  }

  /** Ordered by definition, version and verdict. */
  get groups(): readonly PreflightGroup[] {
    const groups = [...this.#groups.values()].map(({ of, problems, ...gathered }) => ({
      definition: of.definition,
      version: of.version,
      verdict: of.verdict,
      ...gathered,
      problems: [...problems.values()].map(({ of: problem, ...counted }) => ({ ...problem, ...counted })),
    }));

    return groups.sort(inOrder);
  }
}

function count(gathered: Gathered, workflow: WorkflowId): void {
  gathered.count++;
  if (gathered.examples.length < PREFLIGHT_EXAMPLES_MAX_COUNT) gathered.examples.push(workflow);
}

const inOrder = (a: PreflightGroup, b: PreflightGroup): number =>
  compare(a.definition, b.definition) || a.version - b.version || compare(a.verdict, b.verdict);
const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);
