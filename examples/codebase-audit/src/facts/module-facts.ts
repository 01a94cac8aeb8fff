// Owns what a file takes from other files and what it offers them, ES modules and CommonJS alike.
// Must not decide which file a specifier names: that needs the whole tree (resolve.ts).

import type { Program } from 'oxc-parser';
import {
  argument,
  type CallNode,
  keyName,
  literalText,
  type MemberNode,
  memberName,
  type Node,
  unwrap,
} from './ast.ts';
import type { ExportFact, ImportFact } from './facts.ts';
import { type Collected, importedName, patternNames, type Scope } from './scopes.ts';
import type { SourceText } from './source-text.ts';

const COMPILER_WRAPPER = /^_*(?:import(?:Star|Default)|interopRequire\w*|toESM)$/;

export type ModuleFacts = { imports: ImportFact[]; exports: ExportFact[]; opaqueImports: number };

/** Reads imports and exports, merged by specifier and kind, in source order; nothing is cut yet. */
export function moduleFacts(program: Program, collected: Collected, source: SourceText): ModuleFacts {
  const reader = new ModuleReader(collected, source);
  for (const statement of program.body) reader.statement(statement);
  reader.typeImports();
  reader.calls();
  if (!reader.hasEsmExports) reader.commonJsExports();
  return reader.facts();
}

/** The module a `require(…)` or an awaited or plain `import(…)` loads, when it is a constant. */
export function loadedModule(node: Node, scope: Scope): string | undefined {
  let inner = unwrap(node);
  if (inner.type === 'AwaitExpression') inner = unwrap(inner.argument);
  if (inner.type === 'ImportExpression') return literalText(inner.source);
  if (inner.type !== 'CallExpression') return undefined;
  const first = argument(inner, 0);
  if (first === undefined) return undefined;
  if (isRequire(inner.callee, scope)) return literalText(first);
  // What compilers wrap around require: __importStar(require('x')), _interopRequireDefault(require('x')), __toESM(…).
  const callee = unwrap(inner.callee);
  const wrapper = callee.type === 'MemberExpression' ? memberName(callee) : nameOf(callee);
  if (wrapper !== undefined && COMPILER_WRAPPER.test(wrapper)) {
    const wrapped = unwrap(first);
    if (wrapped.type === 'CallExpression' && isRequire(wrapped.callee, scope)) return literalText(argument(wrapped, 0));
  }
  return undefined;
}

/** `require` as given by CommonJS, or made by createRequire. */
function isRequire(callee: Node, scope: Scope): boolean {
  if (callee.type !== 'Identifier' || callee.name !== 'require') return false;
  const binding = scope.lookup('require');
  if (binding === undefined) return true;
  const init = binding.node === undefined ? undefined : unwrap(binding.node);
  if (init?.type !== 'CallExpression') return false;
  const made = init.callee.type === 'MemberExpression' ? memberName(init.callee) : nameOf(init.callee);
  return made === 'createRequire';
}

class ModuleReader {
  hasEsmExports = false;
  readonly #collected: Collected;
  readonly #source: SourceText;
  readonly #imports = new Map<string, { fact: ImportFact; names: Set<string> }>();
  readonly #exports = new Map<string, ExportFact>();
  #opaque = 0;

  constructor(collected: Collected, source: SourceText) {
    this.#collected = collected;
    this.#source = source;
  }

  facts(): ModuleFacts {
    const imports = [...this.#imports.values()].map(({ fact, names }) => ({ ...fact, names: [...names] }));
    return { imports, exports: [...this.#exports.values()], opaqueImports: this.#opaque };
  }

  statement(node: Node): void {
    switch (node.type) {
      case 'ImportDeclaration':
        this.#importDeclaration(node);
        break;
      case 'TSImportEqualsDeclaration':
        if (node.moduleReference.type !== 'TSExternalModuleReference') break;
        this.#import(
          node.importKind === 'type' ? 'type' : 'require',
          node.moduleReference.expression.value,
          ['*'],
          node,
        );
        break;
      case 'ExportNamedDeclaration':
        this.hasEsmExports = true;
        this.#namedExports(node);
        break;
      case 'ExportDefaultDeclaration':
        this.hasEsmExports = true;
        this.#export('default', node, node.declaration.type === 'TSInterfaceDeclaration' ? { type: true } : {});
        break;
      case 'ExportAllDeclaration':
        this.hasEsmExports = true;
        this.#exportAll(node);
        break;
      case 'TSExportAssignment':
        this.hasEsmExports = true;
        this.#export('=', node, {});
        break;
      default:
        break;
    }
  }

  /** `import('../x').Name` in a type. */
  typeImports(): void {
    for (const { node } of this.#collected.of('TSImportType')) {
      const qualifier = node.qualifier;
      const name = qualifier === null ? '*' : qualifier.type === 'Identifier' ? qualifier.name : '*';
      this.#import('type', node.source.value, [name], node);
    }
  }

  calls(): void {
    const taken = this.#destructuredLoads();
    for (const { node, scope, parent } of this.#collected.of('CallExpression')) {
      const first = argument(node, 0);
      if (first === undefined) continue;
      if (isRequire(node.callee, scope)) {
        const module = literalText(first);
        if (module === undefined) this.#computed(first, node, 'require');
        else if (isExportStar(parent, node)) this.#export('*', node, { from: module });
        else this.#import('require', module, taken.get(node) ?? namesRead(node, parent), node);
      } else this.#reference(node, first);
    }
    for (const { node, parent } of this.#collected.of('ImportExpression')) {
      const module = literalText(node.source);
      if (module === undefined) this.#computed(node.source, node, 'dynamic');
      else if (!module.startsWith('data:'))
        this.#import('dynamic', module, taken.get(node) ?? namesRead(node, parent), node);
    }
    for (const { node } of this.#collected.of('NewExpression')) {
      const [first, second] = [argument(node, 0), argument(node, 1)];
      const module = literalText(first);
      if (nameOf(node.callee) !== 'URL' || module === undefined || second === undefined) continue;
      if (this.#textOf(second) === 'import.meta.url' && /^\.{1,2}\//.test(module))
        this.#import('reference', module, ['*'], node);
    }
  }

  commonJsExports(): void {
    for (const { node, scope } of this.#collected.of('AssignmentExpression')) {
      if (node.operator !== '=' || node.left.type !== 'MemberExpression') continue;
      const target = exportTarget(node.left, scope);
      if (target === undefined) continue;
      if (target !== '=') this.#export(target, node, {});
      else this.#wholeExport(unwrap(node.right), node, scope);
    }
    for (const { node, scope } of this.#collected.of('CallExpression')) {
      const [object, name] = [argument(node, 0), literalText(argument(node, 1))];
      if (object === undefined || name === undefined || name === '__esModule') continue;
      if (this.#textOf(node.callee) === 'Object.defineProperty' && isExportsObject(object, scope))
        this.#export(name, node, {});
    }
  }

  #importDeclaration(node: Extract<Node, { type: 'ImportDeclaration' }>): void {
    const types: string[] = [];
    const values: string[] = [];
    for (const item of node.specifiers) {
      const isType = node.importKind === 'type' || (item.type === 'ImportSpecifier' && item.importKind === 'type');
      (isType ? types : values).push(importedName(item));
    }
    if (types.length > 0) this.#import('type', node.source.value, types, node);
    if (values.length > 0 || types.length === 0) this.#import('static', node.source.value, values, node);
  }

  #namedExports(node: Extract<Node, { type: 'ExportNamedDeclaration' }>): void {
    const typeOnly = node.exportKind === 'type' ? ({ type: true } as const) : {};
    const from = node.source?.value;
    for (const item of node.specifiers) {
      const name = exportName(item.exported);
      const local = exportName(item.local);
      const isType = item.exportKind === 'type' ? ({ type: true } as const) : typeOnly;
      const renamed = from !== undefined && local !== name ? { imported: local } : {};
      this.#export(name, item, { ...isType, ...(from === undefined ? {} : { from }), ...renamed });
    }
    const declaration = node.declaration;
    if (declaration === null) {
      if (from !== undefined && node.specifiers.length === 0) this.#import('static', from, [], node);
      return;
    }
    const isType = /^TS(?:Interface|TypeAlias)/.test(declaration.type) ? ({ type: true } as const) : typeOnly;
    if (declaration.type === 'VariableDeclaration') {
      for (const item of declaration.declarations) {
        for (const { name } of patternNames(item.id)) this.#export(name, item, { ...isType, ...this.#usedHere(name) });
      }
    } else if ('id' in declaration && declaration.id?.type === 'Identifier') {
      this.#export(declaration.id.name, node, { ...isType, ...this.#usedHere(declaration.id.name) });
    }
  }

  #exportAll(node: Extract<Node, { type: 'ExportAllDeclaration' }>): void {
    const isType = node.exportKind === 'type' ? ({ type: true } as const) : {};
    const from = node.source.value;
    if (node.exported === null) this.#export('*', node, { ...isType, from });
    else this.#export(exportName(node.exported), node, { ...isType, from, imported: '*' });
  }

  /** `module.exports = …` */
  #wholeExport(value: Node, node: Node, scope: Scope): void {
    const loaded = loadedModule(value, scope);
    if (loaded !== undefined) {
      this.#export('*', node, { from: loaded });
      return;
    }
    if (value.type !== 'ObjectExpression' || value.properties.length === 0) {
      if (value.type !== 'AssignmentExpression') this.#export('=', node, {});
      return;
    }
    for (const item of value.properties) {
      const name = item.type === 'Property' ? keyName(item.key, item.computed) : undefined;
      this.#export(name ?? '=', item, {});
    }
  }

  /** Names that a destructuring declaration takes from a load: `const { a } = require('x')`. */
  #destructuredLoads(): Map<Node, string[]> {
    const taken = new Map<Node, string[]>();
    for (const { node } of this.#collected.of('VariableDeclarator')) {
      if (node.init === null || node.id.type !== 'ObjectPattern') continue;
      let load = unwrap(node.init);
      if (load.type === 'AwaitExpression') load = unwrap(load.argument);
      const names = node.id.properties.map((item) =>
        item.type === 'Property' ? (keyName(item.key, item.computed) ?? '*') : '*',
      );
      taken.set(load, names);
    }
    return taken;
  }

  /** A computed specifier: a template such as `./plugins/${name}.ts` still says in which folder. */
  #computed(specifier: Node, node: Node, kind: 'require' | 'dynamic'): void {
    const inner = unwrap(specifier);
    const start =
      inner.type === 'TemplateLiteral'
        ? inner.quasis[0]?.value.cooked
        : inner.type === 'BinaryExpression' && inner.operator === '+'
          ? literalText(inner.left)
          : undefined;
    const folder = start?.slice(0, start.lastIndexOf('/') + 1);
    if (folder !== undefined && /^\.{1,2}\//.test(folder)) this.#import(kind, `${folder}*`, ['*'], node);
    else this.#opaque++;
  }

  /** `require.resolve('./x')`, `import.meta.resolve('./x')` */
  #reference(node: CallNode, first: Node): void {
    if (node.callee.type !== 'MemberExpression' || memberName(node.callee) !== 'resolve') return;
    const owner = this.#textOf(node.callee.object);
    const module = literalText(first);
    if (module !== undefined && (owner === 'require' || owner === 'import.meta')) {
      this.#import('reference', module, ['*'], node);
    }
  }

  #import(kind: ImportFact['kind'], from: string, names: readonly string[], node: Node): void {
    const key = `${kind} ${from}`;
    const known = this.#imports.get(key);
    if (known === undefined) {
      const fact = { from, names: [], kind, line: this.#source.position(node.start).line };
      this.#imports.set(key, { fact, names: new Set(names) });
    } else for (const name of names) known.names.add(name);
  }

  #export(name: string, node: Node, extra: Partial<ExportFact>): void {
    const key = name === '*' ? `* ${extra.from}` : name;
    // A type and a value may share a name: the value decides.
    const known = this.#exports.get(key);
    if (known !== undefined && (extra.type === true || known.type !== true)) return;
    this.#exports.set(key, { name, line: this.#source.position(node.start).line, ...extra });
  }

  /** Whether a name that is declared where it is exported is written anywhere else in the file. */
  #usedHere(name: string): Partial<ExportFact> {
    return (this.#collected.mentions.get(name) ?? 0) > 1 ? { local: true } : {};
  }

  #textOf(node: Node): string {
    return this.#source.text.slice(node.start, Math.min(node.end, node.start + 40));
  }
}

function nameOf(node: Node): string | undefined {
  return node.type === 'Identifier' ? node.name : undefined;
}

function exportName(name: { type: 'Identifier'; name: string } | { type: 'Literal'; value: string }): string {
  return name.type === 'Literal' ? name.value : name.name;
}

/** The names a load is used for where it stands: `require('x').name`, a bare statement, or everything. */
function namesRead(load: Node, parent: Node | undefined): string[] {
  if (parent?.type === 'ExpressionStatement') return [];
  if (parent?.type !== 'MemberExpression' || parent.object !== load) return ['*'];
  const name = memberName(parent);
  return load.type === 'ImportExpression' || name === undefined ? ['*'] : [name];
}

/** `__exportStar(require('./x'), exports)`, as compilers write `export *`. */
function isExportStar(parent: Node | undefined, load: Node): boolean {
  if (parent?.type !== 'CallExpression' || parent.arguments[0] !== load) return false;
  const callee = unwrap(parent.callee);
  const name = callee.type === 'MemberExpression' ? memberName(callee) : nameOf(callee);
  return name === '__exportStar' || name === '__export';
}

/** What an assignment to a member exports: a name, `=` for all of `module.exports`, or nothing. */
function exportTarget(left: MemberNode, scope: Scope): string | undefined {
  const name = memberName(left);
  if (name === undefined) return undefined;
  if (isExportsObject(left.object, scope)) return name === '__esModule' ? undefined : name;
  return isExportsObject(left, scope) ? '=' : undefined;
}

/** `exports` or `module.exports`, as CommonJS gives them. */
function isExportsObject(node: Node, scope: Scope): boolean {
  const inner = unwrap(node);
  if (inner.type === 'Identifier') return inner.name === 'exports' && scope.lookup('exports') === undefined;
  if (inner.type !== 'MemberExpression' || memberName(inner) !== 'exports') return false;
  return nameOf(inner.object) === 'module' && scope.lookup('module') === undefined;
}
