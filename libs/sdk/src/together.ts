/** Owns the checks of definitions that one process serves together. Must not know versions that ran elsewhere. */

import { effectProblems } from './definition-checks.ts';
import { type DefinitionProblem, type DefinitionWarning, refuseProblems } from './problem.ts';
import type { Workflow } from './workflow-spec.ts';

/**
 * Throws `InvalidError` (`definitions-conflict`) when two workflows have one name and version, or two different effects
 * one operation. Returns the warnings of all, each effect's once.
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
  problems.push(...effectProblems(workflows.flatMap((workflow) => workflow.effects)));
  refuseProblems('definitions-conflict', 'These workflows together', problems);
  const warnings = workflows.flatMap((workflow) => workflow.warnings);
  return [...new Map(warnings.map((warning) => [`${warning.code} ${warning.subject}`, warning])).values()];
}
