/** Hosts and origins that are heard, and those that aren't. */

import { describe, expect, it } from 'vitest';
import { isLoopback, LOOPBACK_HOSTS, refusalOf } from './http-guard.ts';

const guard = { hosts: [...LOOPBACK_HOSTS, 'Box.LAN'], origins: ['https://app.example'] };
const host = '127.0.0.1:7070';
const codeOf = (headers: Readonly<Record<string, string>>, by = guard as Parameters<typeof refusalOf>[1]) =>
  refusalOf({ host, ...headers }, by)?.code;

describe('a host', () => {
  it.each(['127.0.0.1', 'localhost:1', 'LOCALHOST', '[::1]:7070', 'box.lan', 'BOX.lan:80'])(
    'such as %s is heard',
    (name) => expect(codeOf({ host: name })).toBeUndefined(),
  );

  it.each([
    'evil.example',
    'evil.example:7070',
    'localhost.evil.example',
    'evil.example@127.0.0.1',
    '127.0.0.1:7070@evil.example',
    '127.0.0.1:',
    '127.0.0.1:123456',
    '::1',
    '',
  ])('such as %j is refused', (name) => expect(codeOf({ host: name })).toBe('host-refused'));

  it('is needed where names are', () => {
    expect(refusalOf({}, guard)?.code).toBe('host-refused');
    expect(refusalOf({ host: 'anything' }, {})).toBeUndefined();
    expect(refusalOf({}, {})).toBeUndefined();
  });
});

describe('a page', () => {
  it.each(['http://127.0.0.1:7070', 'https://127.0.0.1:7070', 'https://app.example', 'HTTPS://App.Example'])(
    'of %s is heard',
    (origin) => expect(codeOf({ origin })).toBeUndefined(),
  );

  it.each([
    'https://evil.example',
    'null',
    '',
    'http://localhost:7070',
    'http://127.0.0.1:1',
    'https://app.example.evil',
  ])('of %j is refused', (origin) => expect(codeOf({ origin })).toBe('origin-refused'));

  it('has its own origin alone where no others are named, by whatever name it came', () => {
    expect(codeOf({ host: 'any.example', origin: 'https://any.example' }, {})).toBeUndefined();
    expect(codeOf({ host: 'any.example', origin: 'https://app.example' }, {})).toBe('origin-refused');
    expect(refusalOf({ origin: 'https://any.example' }, {})?.code).toBe('origin-refused');
    // Its own name does not make a foreign host ours.
    expect(codeOf({ host: 'evil.example', origin: 'https://evil.example' })).toBe('host-refused');
  });
});

describe('this machine', () => {
  it.each(['localhost', '127.0.0.1', '127.9.9.9', '::1', '[::1]'])('is %s', (name) =>
    expect(isLoopback(name)).toBe(true),
  );
  it.each(['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.example.org', 'localhost.example', '[::1', ''])(
    'is not %j',
    (name) => expect(isLoopback(name)).toBe(false),
  );
});
