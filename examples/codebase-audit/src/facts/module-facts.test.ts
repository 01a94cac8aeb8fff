// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the templates are source text to be parsed.
import { describe, expect, it } from 'vitest';
import { MAX_EXPORTS_PER_FILE, MAX_NAMES_PER_IMPORT } from '../limits.ts';
import { parseFile } from './parse-file.ts';

const facts = (text: string, path = 'file.ts') => parseFile(path, new TextEncoder().encode(text));
const imports = (text: string, path?: string) =>
  facts(text, path).imports.map(({ kind, from, names }) => `${kind} ${from} ${names.join(',')}`.trim());
const exports = (text: string, path?: string) =>
  facts(text, path).exports.map(({ name, from, imported, type }) =>
    [name, from === undefined ? '' : `from ${from}`, imported === undefined ? '' : `as ${imported}`, type ? 'type' : '']
      .filter((part) => part !== '')
      .join(' '),
  );

describe('imports', () => {
  it('of every kind', () => {
    const text = `
      import d, { a as b, type T } from './x.ts';
      import * as ns from './ns.ts';
      import './effects.ts';
      import type { U } from './types.ts';
      import old = require('./old.js');
      type V = import('./inline.ts').V;
      const { p, q: { r } } = await import('./dynamic.ts');
      const later = import('./later.ts');
      new URL('./worker.ts', import.meta.url);
    `;
    expect(imports(text).sort()).toEqual([
      'dynamic ./dynamic.ts p,q',
      'dynamic ./later.ts *',
      'reference ./worker.ts *',
      'require ./old.js *',
      'static ./effects.ts',
      'static ./ns.ts *',
      'static ./x.ts default,a',
      'type ./inline.ts V',
      'type ./types.ts U',
      'type ./x.ts T',
    ]);
  });

  it('of CommonJS, only where require is the real one', () => {
    const text = `
      const { a, b: c } = require('./taken');
      const one = require('./member').name;
      require('./effects');
      const all = __importStar(require('./wrapped'));
      require.resolve('./named');
      function bundled(module, exports, require) { require('./not-this'); }
    `;
    expect(imports(text, 'file.cjs').sort()).toEqual([
      'reference ./named *',
      'require ./effects',
      'require ./member name',
      'require ./taken a,b',
      'require ./wrapped *',
    ]);
  });

  it('through createRequire', () => {
    const text = `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url); require('./x');`;
    expect(imports(text, 'file.mjs')).toContain('require ./x');
  });

  it('with a computed specifier: its folder if there is one, else a count', () => {
    const found = facts('import(`./plugins/${name}.ts`); import("./locales/" + x); import(name); import(`${dir}/x`);');
    expect(found.imports.map(({ from }) => from)).toEqual(['./plugins/*', './locales/*']);
    expect(found.opaqueImports).toBe(2);
  });

  it('merges what one specifier gives in several places', () => {
    expect(imports(`import { a } from './x'; import { b, a as c } from './x';`)).toEqual(['static ./x a,b']);
  });

  it('takes a list of names that is too long for all names', () => {
    const names = Array.from({ length: MAX_NAMES_PER_IMPORT + 1 }, (_, index) => `n${index}`);
    expect(imports(`import { ${names.join(', ')} } from './x';`)).toEqual(['static ./x *']);
  });
});

describe('exports', () => {
  it('of every kind', () => {
    const text = `
      export const a = 1, { b, c: [d = 2, ...e], ...f } = x;
      export function g() {} export class H {} export enum I {} export namespace N { export const inner = 1 }
      export interface J {} export type K = string; export declare const l: number;
      const m = 1; export { m as n, m as 'a name' };
      export { o, p as q, type R } from './x';
      export * from './all'; export * as ns from './ns'; export type * from './types';
      export default class {}
    `;
    expect(exports(text).sort()).toEqual(
      [
        ...['H', 'I', 'N', 'a', 'a name', 'b', 'd', 'default', 'e', 'f', 'g', 'n'],
        ...['* from ./all', '* from ./types type', 'J type', 'K type', 'l type', 'R from ./x type'],
        ...['ns from ./ns as *', 'o from ./x', 'q from ./x as p'],
      ].sort(),
    );
  });

  it('lets the value decide where a type has the same name', () => {
    expect(exports('export type A = string; export const A = 1;')).toEqual(['A']);
  });

  it('of CommonJS', () => {
    expect(exports('exports.a = 1; module.exports.b = 2; exports["c"] = 3;', 'x.cjs')).toEqual(['a', 'b', 'c']);
    expect(exports('module.exports = { a, b: 1, ...rest };', 'x.cjs')).toEqual(['a', 'b', '=']);
    expect(exports('module.exports = function () {};', 'x.js')).toEqual(['=']);
    expect(exports('exports = module.exports = create;', 'x.js')).toEqual(['=']);
    expect(exports('module.exports = require("./x");', 'x.js')).toEqual(['* from ./x']);
    const compiled = `Object.defineProperty(exports, "__esModule", { value: true });
      exports.b = exports.a = void 0; exports.a = 1; __exportStar(require("./all"), exports);
      Object.defineProperty(exports, "c", { enumerable: true, get: () => x.c });`;
    expect(exports(compiled, 'x.js').sort()).toEqual(['* from ./all', 'a', 'b', 'c']);
  });

  it('not through a parameter or a variable of that name', () => {
    expect(exports('function f(exports, module) { exports.a = 1; module.exports = 2; }', 'x.js')).toEqual([]);
  });

  it('says which are used in their own file', () => {
    const { exports: found } = facts('export const a = 1; export const b = a; export type C = D; export type D = 1;');
    expect(found.filter(({ local }) => local).map(({ name }) => name)).toEqual(['a', 'D']);
  });

  it('counts what a cap takes away', () => {
    const text = Array.from({ length: MAX_EXPORTS_PER_FILE + 5 }, (_, index) => `export const n${index} = 1;`).join(
      '\n',
    );
    const found = facts(text);
    expect(found.exports).toHaveLength(MAX_EXPORTS_PER_FILE);
    expect(found.cut).toEqual({ exports: 5 });
  });
});
