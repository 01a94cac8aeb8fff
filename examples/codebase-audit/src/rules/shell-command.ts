// Owns the rule `shell-command`: a command line for a shell that is put together from parts. `high` when the building can be
// seen here, `low` when the whole command comes from a name whose origin cannot be seen. Constants are fine.

import { argument, type CallNode, literalText, type Node, unwrap } from '../facts/ast.ts';
import type { Severity } from '../facts/facts.ts';
import type { Collected, Scope } from '../facts/scopes.ts';
import { constantInit, moduleMember, optionValue, type TextOrigin, textOrigin } from '../facts/values.ts';
import type { RawFinding } from './report-finding.ts';

/** Functions that hand their first argument to a shell. */
const ALWAYS_SHELL: Readonly<Record<string, ReadonlySet<string>>> = {
  child_process: new Set(['exec', 'execSync']),
  execa: new Set(['execaCommand', 'execaCommandSync', 'command', 'commandSync']),
  shelljs: new Set(['exec']),
};
/** Functions that use a shell when the option `shell` says so, or when the program they start is one. */
const MAYBE_SHELL: Readonly<Record<string, ReadonlySet<string>>> = {
  child_process: new Set(['spawn', 'spawnSync', 'execFile', 'execFileSync']),
  execa: new Set(['execa', 'execaSync', '*']),
  'cross-spawn': new Set(['*', 'spawn', 'sync']),
};
const SHELLS = /^(?:.*[\\/])?(?:sh|bash|zsh|dash|ksh|fish|cmd|powershell|pwsh)(?:\.exe)?$/i;
const SHELL_FLAGS = /^(?:-\w*c|\/c|-command)$/i;

export function shellCommand(collected: Collected): RawFinding[] {
  const found: RawFinding[] = [];
  for (const { node, scope } of collected.of('CallExpression')) {
    const member = moduleMember(node.callee, scope);
    if (member === undefined) continue;
    const called = member.member === '*' ? member.module : member.member;
    if (ALWAYS_SHELL[member.module]?.has(member.member)) {
      const finding = judge(node, called, partsOf(argument(node, 0), scope), 'high');
      if (finding !== undefined) found.push(finding);
    } else if (MAYBE_SHELL[member.module]?.has(member.member)) {
      const finding = ofSpawn(node, called, scope);
      if (finding !== undefined) found.push(finding);
    }
  }
  return found;
}

function ofSpawn(node: CallNode, called: string, scope: Scope): RawFinding | undefined {
  const [program, list] = [argument(node, 0), argument(node, 1)];
  const args = listItems(list, scope);
  const use = shellUse(node, scope);
  if (use !== 'no') {
    // With a shell, program and arguments are joined to one command line.
    const origins = [partsOf(program, scope), ...args.map((item) => partsOf(item, scope))];
    return judge(node, `${called} with a shell`, worst(origins), use === 'yes' ? 'high' : 'medium');
  }
  const name = program === undefined ? undefined : literalText(constantInit(unwrap(program), scope) ?? program);
  const flag = args[0] === undefined ? undefined : literalText(args[0]);
  if (name === undefined || flag === undefined || !SHELLS.test(name) || !SHELL_FLAGS.test(flag)) return undefined;
  return judge(node, `${called} of ${name} ${flag}`, partsOf(args[1], scope), 'high');
}

/** Whether the option `shell` turns a shell on. */
function shellUse(node: CallNode, scope: Scope): 'yes' | 'maybe' | 'no' {
  for (const index of [2, 1]) {
    const value = optionValue(argument(node, index), 'shell', scope);
    if (value === undefined) continue;
    const inner = unwrap(constantInit(unwrap(value), scope) ?? value);
    if (inner.type !== 'Literal') return 'maybe';
    return inner.value === false || inner.value === '' || inner.value === null ? 'no' : 'yes';
  }
  return 'no';
}

function listItems(node: Node | undefined, scope: Scope): Node[] {
  if (node === undefined) return [];
  const inner = unwrap(node);
  const list = unwrap(constantInit(inner, scope) ?? inner);
  if (list.type === 'ArrayExpression') return list.elements.filter((item) => item !== null);
  return list.type === 'ObjectExpression' ? [] : [inner];
}

function partsOf(node: Node | undefined, scope: Scope): TextOrigin {
  if (node === undefined) return 'constant';
  return node.type === 'SpreadElement' ? 'unknown' : textOrigin(node, scope);
}

function worst(origins: readonly TextOrigin[]): TextOrigin {
  if (origins.includes('built')) return 'built';
  return origins.includes('unknown') ? 'unknown' : 'constant';
}

function judge(node: Node, called: string, origin: TextOrigin, builtSeverity: Severity): RawFinding | undefined {
  if (origin === 'constant') return undefined;
  const rule = 'shell-command';
  if (origin === 'built') {
    return { rule, severity: builtSeverity, node, message: `${called}: the shell command is put together at run time` };
  }
  return {
    rule,
    severity: 'low',
    node,
    message: `${called}: the shell command comes from elsewhere; check that no input reaches it`,
  };
}
