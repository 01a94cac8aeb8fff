/** Owns the checks of definitions that one process serves together. Must not know versions that ran elsewhere. */

import type { EffectDefinition } from '@tidemark/runtime';
import { effectProblems } from './definition-checks.ts';
import { type DefinitionProblem, type DefinitionWarning, refuseProblems } from './problem.ts';
import type { Workflow } from './workflow-spec.ts';

/**
 * Throws `InvalidError` (`definitions-conflict`) when two workflows have one name and version, or different effects of
 * different workflows one operation (those of two versions of a workflow may differ). Returns the warnings of all, each effect's once.
 */
export function checkTogether(workflows: readonly Workflow[]): readonly DefinitionWarning[] {
  const seen = new Map<string, Workflow>();
  const problems: DefinitionProblem[] = [];
  for (const workflow of workflows) {
    const title = `${workflow.name} v${workflow.version}`;
    const other = seen.get(title);
    if (other !== undefined && other !== workflow) {
      const message = `two workflows are ${title}: rename one, or raise its version.`;
      problems.push({ code: 'workflow-duplicate', message });
    }
    seen.set(title, workflow);
  }
  problems.push(...sharedOperationProblems(workflows));
  refuseProblems('definitions-conflict', 'These workflows together', problems);
  const warnings = workflows.flatMap((workflow) => workflow.warnings);
  return [...new Map(warnings.map((warning) => [`${warning.code} ${warning.subject}`, warning])).values()];
}

function sharedOperationProblems(workflows: readonly Workflow[]): readonly DefinitionProblem[] {
  const byName = Map.groupBy(workflows, ({ name }) => name);
  const owners = new Map<string, { readonly name: string; readonly effect: EffectDefinition }>();
  const others: EffectDefinition[] = [];
  for (const [name, versions] of byName) {
    for (const effect of versions.flatMap((workflow) => workflow.effects)) {
      const owner = owners.get(effect.operation);
      if (owner === undefined) owners.set(effect.operation, { name, effect });
      else if (owner.name !== name) others.push(owner.effect, effect);
    }
  }
  return effectProblems(others);
}
