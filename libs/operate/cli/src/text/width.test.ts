import { describe, expect, it } from 'vitest';
import { cut, padEnd, padStart, printable, printableLines, widthOf } from './width.ts';

describe('width on a terminal', () => {
  it.each([
    ['plain', 5],
    ['', 0],
    ['émigré', 6],
    ['e\u0301', 1],
    ['日本語', 6],
    ['한국', 4],
    ['ｆｕｌｌ', 8],
    ['🚀', 2],
    ['👩‍👩‍👧', 2],
    ['❤️', 2],
    ['🇩🇪', 2],
    ['a\u200bb', 2],
    ['…─└', 3],
  ])('%j takes %i columns', (text, columns) => {
    expect(widthOf(text)).toBe(columns);
  });

  it('cuts by columns, never through a character', () => {
    expect(cut('hello', 5)).toBe('hello');
    expect(cut('hello', 4)).toBe('hel…');
    expect(cut('日本語', 5)).toBe('日本…');
    expect(cut('日本語', 4)).toBe('日…');
    expect(cut('👩‍👩‍👧 family', 3)).toBe('👩‍👩‍👧…');
    expect(cut('hello', 1)).toBe('…');
    expect(cut('hello', 0)).toBe('');
  });

  it('pads by columns', () => {
    expect(padEnd('日本', 6)).toBe('日本  ');
    expect(padStart('日本', 6)).toBe('  日本');
    expect(padEnd('too long', 3)).toBe('too long');
  });
});

describe('text from outside', () => {
  it('cannot steer the terminal', () => {
    expect(printable('a\u001b[31mred\u0007')).toBe('a\\x1b[31mred\\x07');
    expect(printable('a\u009b2Jb')).toBe('a\\x9b2Jb');
    expect(printable('user\u202egpj.exe')).toBe('user\\x202egpj.exe');
    expect(printable('two\r\nlines\tand a tab')).toBe('two⏎lines and a tab');
  });

  it('keeps lines where they may stay', () => {
    expect(printableLines('one\n  two\u001b\r\nthree')).toEqual(['one', '  two\\x1b', 'three']);
  });
});
