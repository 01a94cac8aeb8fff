import { describe, expect, it } from 'vitest';
import { Terminal } from './terminal.ts';

function make(
  options: { readonly json?: boolean; readonly isTTY?: boolean; readonly env?: Record<string, string> } = {},
) {
  const written = { out: '', err: '' };
  const stream = (name: 'out' | 'err') => ({
    isTTY: options.isTTY ?? false,
    columns: 40,
    write(text: string | Uint8Array) {
      written[name] += String(text);
      return true;
    },
  });
  const terminal = new Terminal({
    stdout: stream('out') as never,
    stderr: stream('err') as never,
    env: options.env ?? {},
    json: options.json ?? false,
  });
  return { terminal, written };
}

describe('what goes where', () => {
  it('gives people lines on standard output, and the rest on standard error', () => {
    const { terminal, written } = make();
    terminal.line('result');
    terminal.answer({ not: 'shown' });
    terminal.record({ not: 'shown' });
    terminal.note('by the way');
    terminal.warn('careful');
    terminal.failure('some-code', 'it failed', undefined);
    expect(written).toEqual({ out: 'result\n', err: 'by the way\nwarning: careful\nerror: it failed\n' });
  });

  it('gives programs JSON alone', () => {
    const { terminal, written } = make({ json: true, isTTY: true });
    terminal.line('result');
    terminal.note('by the way');
    terminal.status('half way');
    terminal.record({ a: 1 });
    terminal.answer({ b: 2 });
    terminal.failure('some-code', 'it failed', undefined);
    expect(written.out).toBe('{"api_version":"v1","a":1}\n{\n  "api_version": "v1",\n  "b": 2\n}\n');
    expect(written.err).toBe('{"error":{"code":"some-code","message":"it failed"}}\n');
  });

  it('shows a status line on a terminal only, under whatever else is said', () => {
    const plain = make();
    plain.terminal.status('half way');
    expect(plain.written.err).toBe('');
    const { terminal, written } = make({ isTTY: true });
    terminal.status('half way');
    terminal.note('said');
    terminal.status('');
    expect(written.err).toBe('half way\r\u001b[2Ksaid\nhalf way\r\u001b[2K');
  });

  it('paints on a terminal, unless NO_COLOR is set', () => {
    expect(make({ isTTY: true }).terminal.paint('red', 'x')).toBe('\u001b[31mx\u001b[39m');
    expect(make({ isTTY: true, env: { NO_COLOR: '1' } }).terminal.paint('red', 'x')).toBe('x');
    expect(make({ isTTY: true, env: { TERM: 'dumb' } }).terminal.paint('red', 'x')).toBe('x');
    expect(make().terminal.paint('red', 'x')).toBe('x');
  });

  it('knows the width of a terminal, or the one that COLUMNS names', () => {
    expect(make({ isTTY: true, env: { COLUMNS: '60' } }).terminal.width).toBe(60);
    expect(make({ env: { COLUMNS: '60' } }).terminal.width).toBe(60);
    for (const COLUMNS of ['', '5', 'wide', '-60', '99999'])
      expect(make({ env: { COLUMNS } }).terminal.width).toBeUndefined();
    expect(make({ isTTY: true }).terminal.width).toBe(40);
    expect(make().terminal.width).toBeUndefined();
  });
});
