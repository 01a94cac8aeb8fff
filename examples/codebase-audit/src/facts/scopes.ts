// Owns which declaration a name means at a place in the source. One walk collects declarations and the nodes the rules ask for;
// names are looked up only afterwards, when hoisting is settled. Types and `with` are not modelled.

import type { BindingPattern, Node, Program } from 'oxc-parser';
import { isFunction, keyName, type NodeOf, walk } from './ast.ts';

export type Binding = {
  kind: 'import' | 'const' | 'let' | 'var' | 'param' | 'function' | 'class' | 'other';
  /** The initialiser, function or class. */
  node: Node | undefined;
  /** Set when the name is destructured from the initialiser: the property it takes (`undefined` when not known). */
  property?: string | undefined;
  destructured: boolean;
  /** For imports: the module and the imported name (`*` and `default` included). */
  source?: { module: string; name: string };
  reassigned: boolean;
  /** Grown with `+=`. */
  appended: boolean;
  /** Where it is declared, and so where its initialiser's names are looked up. */
  scope?: Scope;
};

export class Scope {
  readonly parent: Scope | undefined;
  readonly isFunction: boolean;
  readonly #names = new Map<string, Binding>();
  readonly #outer = new Map<string, Binding | null>();

  constructor(parent: Scope | undefined, isFunctionScope: boolean) {
    this.parent = parent;
    this.isFunction = isFunctionScope;
  }

  /** Only once all is declared: answers are kept, so that depth of nesting doesn't multiply the cost of a long block. */
  lookup(name: string): Binding | undefined {
    const own = this.#names.get(name);
    if (own !== undefined || this.parent === undefined) return own;
    const known = this.#outer.get(name);
    if (known !== undefined) return known ?? undefined; // null: declared nowhere
    let found: Binding | undefined;
    for (let scope: Scope | undefined = this.parent; scope !== undefined && found === undefined; scope = scope.parent) {
      found = scope.#names.get(name);
    }
    this.#outer.set(name, found ?? null);
    return found;
  }

  /** A second declaration of one name (`var x`, overloads) makes it reassigned, except that an overload's body wins. */
  declare(name: string, binding: Binding): void {
    const earlier = this.#names.get(name);
    if (earlier !== undefined && earlier.node !== undefined && binding.node !== undefined) binding.reassigned = true;
    if (earlier !== undefined && binding.node === undefined) return;
    binding.scope = this;
    this.#names.set(name, binding);
  }

  /** The nearest scope that `var` and function declarations of sloppy code belong to. */
  functionScope(): Scope {
    let scope: Scope = this;
    while (!scope.isFunction && scope.parent !== undefined) scope = scope.parent;
    return scope;
  }
}

export type Site = { node: Node; parent: Node | undefined; scope: Scope };
type NodeType = Node['type'];

/** The node types that rules look at; nothing else is kept. */
const KEPT = new Set<NodeType>([
  'CallExpression',
  'NewExpression',
  'ImportExpression',
  'TSImportType',
  'TSImportEqualsDeclaration',
  'VariableDeclarator',
  'Property',
  'PropertyDefinition',
  'AssignmentExpression',
  'AssignmentPattern',
  'BinaryExpression',
  'JSXAttribute',
  'Literal',
  'TemplateLiteral',
  'TemplateElement',
  'JSXText',
  'FunctionDeclaration',
  'FunctionExpression',
  'ArrowFunctionExpression',
  'ClassDeclaration',
  'ClassExpression',
  'ObjectExpression',
]);

export type Collected = {
  /** Sites of one node type, in source order. */
  of<T extends NodeType>(type: T): (Site & { node: NodeOf<T> })[];
  root: Scope;
  /** How often each identifier is written, declarations included. */
  mentions: ReadonlyMap<string, number>;
};

const BLOCK_SCOPES = new Set<NodeType>([
  'BlockStatement',
  'ForStatement',
  'ForInStatement',
  'ForOfStatement',
  'CatchClause',
  'SwitchStatement',
  'StaticBlock',
  'TSModuleBlock',
  'ClassDeclaration',
  'ClassExpression',
]);

/** Goes through a program once. */
export function collect(program: Program): Collected {
  const sites = new Map<NodeType, Site[]>();
  const writes: { name: string; scope: Scope; append: boolean }[] = [];
  const root = new Scope(undefined, true);
  const mentions = new Map<string, number>();
  let scope = root;
  /** A function's outermost block shares the scope of its parameters, or `var` and `function` of one name would differ. */
  const bodies = new Set<Node>();
  const opensBlock = (node: Node) => BLOCK_SCOPES.has(node.type) && !bodies.has(node);

  walk(
    program,
    (node, parent) => {
      const outer = scope;
      if (isFunction(node)) {
        scope = new Scope(scope, true);
        if (node.body !== null) bodies.add(node.body);
      } else if (opensBlock(node)) scope = new Scope(scope, false);
      if (node.type === 'Identifier') mentions.set(node.name, (mentions.get(node.name) ?? 0) + 1);
      declareNames(node, outer, scope);
      noteWrites(node, scope, writes);
      if (!KEPT.has(node.type)) return;
      const list = sites.get(node.type);
      const site = { node, parent, scope: outer };
      if (list === undefined) sites.set(node.type, [site]);
      else list.push(site);
    },
    (node) => {
      if (isFunction(node) || opensBlock(node)) scope = scope.parent!;
    },
  );

  for (const write of writes) {
    const binding = write.scope.lookup(write.name);
    if (binding === undefined) continue;
    binding.reassigned = true;
    if (write.append) binding.appended = true;
  }
  return { of: (type) => (sites.get(type) ?? []) as never, root, mentions };
}

function declareNames(node: Node, outer: Scope, inner: Scope): void {
  switch (node.type) {
    case 'FunctionDeclaration':
    case 'FunctionExpression':
    case 'ArrowFunctionExpression':
      if (node.id !== null) {
        const binding = fresh('function', node);
        if (node.type === 'FunctionDeclaration') outer.declare(node.id.name, binding);
        else inner.declare(node.id.name, binding);
      }
      for (const param of node.params) declareParam(param, inner);
      return;
    case 'TSDeclareFunction':
      if (node.id !== null) outer.declare(node.id.name, fresh('function', undefined));
      return;
    case 'ClassDeclaration':
    case 'ClassExpression':
      if (node.id !== null)
        (node.type === 'ClassDeclaration' ? outer : inner).declare(node.id.name, fresh('class', node));
      return;
    case 'VariableDeclaration': {
      const kind = node.kind === 'var' || node.kind === 'let' ? node.kind : 'const';
      const target = kind === 'var' ? outer.functionScope() : outer;
      for (const item of node.declarations) declarePattern(item.id, target, kind, item.init ?? undefined);
      return;
    }
    case 'CatchClause':
      if (node.param !== null) declarePattern(node.param, inner, 'param', undefined);
      return;
    case 'ImportDeclaration':
      declareImports(node, outer);
      return;
    case 'TSImportEqualsDeclaration':
      if (node.moduleReference.type === 'TSExternalModuleReference') {
        const module = node.moduleReference.expression.value;
        outer.declare(node.id.name, { ...fresh('import', undefined), source: { module, name: '*' } });
      }
      return;
    case 'TSEnumDeclaration':
      outer.declare(node.id.name, fresh('other', node));
      return;
    default:
      return;
  }
}

function declareImports(node: Extract<Node, { type: 'ImportDeclaration' }>, scope: Scope): void {
  for (const item of node.specifiers) {
    const name = importedName(item);
    scope.declare(item.local.name, { ...fresh('import', undefined), source: { module: node.source.value, name } });
  }
}

/** What one import specifier takes: `default`, `*`, or the exported name. */
export function importedName(item: Extract<Node, { type: 'ImportDeclaration' }>['specifiers'][number]): string {
  if (item.type === 'ImportDefaultSpecifier') return 'default';
  if (item.type === 'ImportNamespaceSpecifier') return '*';
  return item.imported.type === 'Literal' ? item.imported.value : item.imported.name;
}

function declareParam(param: Node, scope: Scope): void {
  if (param.type === 'TSParameterProperty') declareParam(param.parameter, scope);
  else declarePattern(param as BindingPattern, scope, 'param', undefined);
}

/** Declares each name of a pattern; only the first level of an object pattern keeps the property it takes. */
export function declarePattern(
  pattern: BindingPattern | Extract<Node, { type: 'RestElement' }>,
  scope: Scope,
  kind: Binding['kind'],
  init: Node | undefined,
): void {
  if (pattern.type === 'Identifier') {
    scope.declare(pattern.name, fresh(kind, init));
    return;
  }
  for (const { name, property } of patternNames(pattern)) {
    scope.declare(name, { ...fresh(kind, init), destructured: true, property });
  }
}

/** The names a pattern binds, with the first-level property each comes from where that is known. */
export function patternNames(pattern: Node): { name: string; property: string | undefined }[] {
  const found: { name: string; property: string | undefined }[] = [];
  const pending: { node: Node | null; property: string | undefined; depth: number }[] = [
    { node: pattern, property: undefined, depth: 0 },
  ];
  while (pending.length > 0) {
    const { node, property, depth } = pending.pop()!;
    if (node === null) continue;
    if (node.type === 'Identifier') found.push({ name: node.name, property: depth === 1 ? property : undefined });
    else if (node.type === 'AssignmentPattern') pending.push({ node: node.left, property, depth });
    else if (node.type === 'RestElement') pending.push({ node: node.argument, property: undefined, depth: depth + 1 });
    else if (node.type === 'ArrayPattern') {
      for (const item of node.elements) pending.push({ node: item, property: undefined, depth: depth + 1 });
    } else if (node.type === 'ObjectPattern') {
      for (const item of node.properties) {
        if (item.type === 'RestElement') pending.push({ node: item, property: undefined, depth: depth + 1 });
        else pending.push({ node: item.value, property: keyName(item.key, item.computed), depth: depth + 1 });
      }
    }
  }
  return found;
}

function noteWrites(node: Node, scope: Scope, writes: { name: string; scope: Scope; append: boolean }[]): void {
  const target =
    node.type === 'AssignmentExpression' || node.type === 'ForInStatement' || node.type === 'ForOfStatement'
      ? node.left
      : node.type === 'UpdateExpression'
        ? node.argument
        : undefined;
  if (target === undefined || target.type === 'VariableDeclaration' || target.type === 'MemberExpression') return;
  const append = node.type === 'AssignmentExpression' && node.operator === '+=';
  for (const { name } of patternNames(target)) writes.push({ name, scope, append });
}

function fresh(kind: Binding['kind'], node: Node | undefined): Binding {
  return { kind, node, destructured: false, reassigned: false, appended: false };
}
