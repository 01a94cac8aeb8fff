// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the templates are source text to be parsed.
import { describe, expect, it } from 'vitest';
import type { Rule } from '../facts/facts.ts';
import { parseFile } from '../facts/parse-file.ts';

function found(rule: Rule, text: string, path = 'file.ts'): string[] {
  const facts = parseFile(path, new TextEncoder().encode(text));
  expect(facts.status).toBe('parsed');
  return facts.findings.filter((finding) => finding.rule === rule).map(({ severity, line }) => `${severity} ${line}`);
}

describe('dynamic-code', () => {
  const dynamic = (text: string) => found('dynamic-code', text);

  it.each([
    ['eval of something', 'eval(x)'],
    ['indirect eval', '(0, eval)(x)'],
    ['eval through the global object', 'globalThis.eval(x); '],
    ['new Function', 'new Function("a", body)'],
    ['Function called', 'Function("return " + x)()'],
    ['the async function constructor', 'const F = Object.getPrototypeOf(async function () {}).constructor; new F(x)'],
    ['vm by namespace', 'import vm from "node:vm"; vm.runInNewContext(x)'],
    ['vm by name', 'const { runInThisContext: run } = require("vm"); run(x)'],
    ['vm.Script', 'import * as vm from "vm"; new vm.Script(code)'],
    ['a timer with built text', 'setTimeout("go(" + x + ")", 10)'],
    ['a timer with a template', 'setInterval(`go(${x})`, 10)'],
    ['a module as a data URL', 'import(`data:text/javascript,${code}`)'],
  ])('%s is high', (_, text) => expect(dynamic(text)).toEqual(['high 1']));

  it.each([
    ['eval of a constant', 'eval("1 + 1")'],
    ['the usual way to the global object', 'Function("return this")()'],
    ['a timer with constant text', 'const text = "go()"; setTimeout(text, 10)'],
  ])('%s is low', (_, text) => expect(dynamic(text)).toEqual(['low 1']));

  it.each([
    ['a method called eval', 'redis.eval(script); page.$eval("a", f)'],
    ['an eval of its own', 'function eval(x) { return x } eval(y)'],
    ['a Function that is a parameter', 'function f(Function) { new Function(x) }'],
    ['timers with functions', 'setTimeout(go, 1); setTimeout(() => go(), 1); setTimeout(cond ? a : b, 1)'],
    ['a Function used as a value', 'x instanceof Function; class A extends Function {}'],
    ['a vm that is another thing', 'import { vm } from "./machine.ts"; vm.runInContext(x)'],
    ['a context made for later', 'import vm from "vm"; vm.createContext({})'],
    ['a type', 'type F = Function; let f: (eval: Function) => void;'],
    ['eval in text and comments', '// eval(x)\nconst s = "eval(x)";'],
  ])('%s is nothing', (_, text) => expect(dynamic(text)).toEqual([]));
});

describe('shell-command', () => {
  const shell = (text: string) => found('shell-command', text);

  it.each([
    ['a template', 'import { exec } from "child_process"; exec(`ls ${x}`)'],
    ['node: and a new name', 'import { execSync as run } from "node:child_process"; run("ls " + x)'],
    ['a namespace', 'import * as cp from "node:child_process"; cp.exec(`ls ${x}`)'],
    ['the default import', 'import cp from "child_process"; cp.execSync(["ls", x].join(" "))'],
    ['require, destructured', 'const { exec: e } = require("child_process"); e(`ls ${x}`)'],
    ['require, in place', 'require("child_process").exec("ls " + x)'],
    ['an alias of a member', 'const cp = require("child_process"); const run = cp.exec; run("ls " + x)'],
    ['promisify', 'import { exec } from "child_process"; const run = promisify(exec); run(`ls ${x}`)'],
    [
      'util.promisify of a member',
      'const cp = require("child_process"); const run = util.promisify(cp.exec); run(`ls ${x}`)',
    ],
    ['a dynamic import', 'const { exec } = await import("node:child_process"); exec(`ls ${x}`)'],
    ['a constant that is built', 'import { exec } from "child_process"; const command = `ls ${x}`; exec(command)'],
    ['text that grows', 'import { exec } from "child_process"; let c = "ls"; c += x; exec(c)'],
    ['one branch of two', 'import { exec } from "child_process"; exec(a ? "ls" : "rm " + x)'],
    ['spawn with a shell', 'import { spawn } from "child_process"; spawn(`ls ${x}`, { shell: true })'],
    [
      'arguments with a shell',
      'import { spawnSync } from "child_process"; spawnSync("ls", ["-l", dir + "/x"], { shell: "bash" })',
    ],
    [
      'options kept in a constant',
      'import { spawn } from "child_process"; const o = { shell: true }; spawn("ls " + x, [], o)',
    ],
    ['a shell by name', 'import { spawn } from "child_process"; spawn("sh", ["-c", `ls ${x}`])'],
    ['a shell by path', 'import { execFile } from "child_process"; execFile("/bin/bash", ["-lc", "ls " + x])'],
  ])('%s is high', (_, text) => expect(shell(text)).toEqual(['high 1']));

  it('a command from elsewhere is low', () => {
    expect(shell('import { exec } from "child_process"; export const run = (command) => exec(command);')).toEqual([
      'low 1',
    ]);
  });

  it('a shell that may be on is medium', () => {
    const text =
      'import { spawn } from "child_process"; spawn("npm " + x, [], { shell: process.platform === "win32" })';
    expect(shell(text)).toEqual(['medium 1']);
  });

  it.each([
    ['a constant', 'import { exec } from "child_process"; exec("ls -l"); exec(`ls`);'],
    [
      'constants put together',
      'import { exec } from "child_process"; const d = "dist"; exec(`rm -r ${d}` + " && ls " + "x");',
    ],
    [
      'the program itself',
      'import { execSync } from "child_process"; execSync(`${process.execPath} ${__dirname} ${process.pid}`);',
    ],
    ['a quoted part', 'import { exec } from "child_process"; exec(`ls ${shellQuote(x)}`);'],
    [
      'spawn without a shell',
      'import { spawn } from "child_process"; spawn("ls", [`${x}`]); spawn(x, [y], { shell: false });',
    ],
    ['a regular expression', 'const found = /a/.exec(`${x}`); pattern.exec("a" + b);'],
    ['a database', 'import { db } from "./db.ts"; db.exec(`DELETE FROM ${x}`);'],
    ['an exec of its own', 'import { exec } from "child_process"; function f(exec) { exec(`ls ${x}`); }'],
    ['another module', 'import { exec } from "./child_process"; exec(`ls ${x}`);'],
  ])('%s is nothing', (_, text) => expect(shell(text)).toEqual([]));
});

describe('unbounded-recursion', () => {
  const recursion = (text: string, path?: string) => found('unbounded-recursion', text, path);

  it.each([
    ['a plain one', 'function f(n) { return f(n - 1); }'],
    ['after other work', 'function f(n) { const m = n * 2; log(m); f(m); }'],
    ['an arrow', 'const f = (n) => f(n + 1);'],
    ['on both branches', 'function f(n) { if (n > 0) { return f(n - 1); } return f(n + 1); }'],
    ['on both sides of a choice', 'const f = (n) => n > 0 ? f(n - 1) : f(n + 1);'],
    ['in an argument', 'function f(n) { return g(f(n)); }'],
    ["in a loop's head", 'function f(list) { for (const x of f(list)) use(x); }'],
    ['before a loop that ends by itself', 'function f(n) { while (n > 0) n--; f(n); }'],
    ['before the first await', 'async function f() { await f(); }'],
    ['a method', 'class A { m() { return this.m(); } }'],
    ['a static method', 'class A { static m() { this.m(); } }'],
    ['a getter that reads itself', 'class A { get size() { return this.size; } }'],
    ['a setter that sets itself', 'class A { set size(n) { this.size = n; } }'],
    ['a getter of an object', 'const o = { get x() { return this.x; } };'],
    ['a constructor', 'class A { constructor() { this.next = new A(); } }'],
    ['try and finally', 'function f() { try { f(); } finally { g(); } }'],
  ])('%s is high', (_, text) => expect(recursion(text)).toEqual(['high 1']));

  it('several functions in a circle are one finding', () => {
    expect(recursion('function a() { b(); }\nconst b = () => c();\nfunction c() { return a(); }')).toEqual([
      'medium 1',
    ]);
    expect(recursion('class A {\n #a() { this.#b(); }\n #b() { this.#a(); }\n}')).toEqual(['medium 2']);
  });

  it.each([
    ['an exit before it', 'function f(n) { if (n === 0) return; f(n - 1); }'],
    ['an exit by throwing', 'function f(n) { if (n < 0) throw new Error(); f(n - 1); }'],
    ['one branch only', 'function f(n) { if (n > 0) f(n - 1); }'],
    ['a choice', 'const f = (n) => n > 0 ? f(n - 1) : 0;'],
    ['&&', 'function f(n) { return n > 0 && f(n - 1); }'],
    ['||=', 'function f(n) { let x = n; x ||= f(n); return x; }'],
    ['an optional call', 'function f(n) { n?.child(f(n.child)); }'],
    ['a loop', 'function f(node) { for (const child of node.children) f(child); }'],
    ['a callback', 'function f(node) { node.children.forEach((child) => f(child)); node.map(f); }'],
    ['a switch', 'function f(n) { switch (n) { case 1: return 1; } return f(n - 1); }'],
    ['an exit inside a loop', 'function f(n) { while (true) { if (n) return 1; } f(n); }'],
    ['a labelled way out', 'function f(n) { out: { if (n) break out; f(n); } }'],
    ['a handler', 'function f(n) { try { f(n); } catch { return 1; } }'],
    ['an assertion', 'function f(n) { assert(n > 0); return f(n - 1); }'],
    ['a way out of the process', 'function f() { process.exit(); f(); }'],
    ['a wait: the stack does not grow', 'async function poll() { await sleep(10); await poll(); }'],
    ['a timer', 'function tick() { setTimeout(tick, 10); setTimeout(() => tick(), 10); }'],
    ['a generator', 'function* f() { yield* f(); }'],
    ['another function of that name', 'function f() { const f = () => 1; return f(); }'],
    ['a parameter of that name', 'function f(f) { return f(); }'],
    ['a function that replaces itself', 'function f() { f = () => 1; return f(); }'],
    ['two declarations of one name', '(function () { function f(a) { return f(a, 1); } var f = (a, b) => 1; })();'],
    ['a method of another object', 'class A { m() { return this.inner.m(); } }'],
    ['the method of the parent', 'class A extends B { m() { return super.m(); } }'],
    ['a method that replaces itself', 'class A { m() { this.m = () => 1; return this.m(); } }'],
    ['methods that a subclass may replace', 'class A { a() { return this.b(); } b() { return this.a(); } }'],
    [
      'a getter that defines itself',
      'class A { get x() { Object.defineProperty(this, "x", { value: 1 }); return this.x; } }',
    ],
    ['a function inside it', 'function f() { return function g() { return f(); }; }'],
    [
      'an overload',
      'function f(a: string): void; function f(a: number): void; function f(a: unknown): void { use(a); }',
    ],
    ['a default value', 'function f(a = f(1)) { return a; }'],
    ['a static field and a method', 'class A { static m() { return 1; } m() { return A.m(); } }'],
  ])('%s is nothing', (_, text) => expect(recursion(text)).toEqual([]));

  it('survives statements nested beyond its bound', () => {
    expect(recursion(`function f() { ${'{'.repeat(900)} f(); ${'}'.repeat(900)} }`)).toEqual([]);
  });
});
