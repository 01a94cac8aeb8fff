/** Files in messages, and what stands for them in a tool's result. */

import { describe, expect, test } from 'vitest';
import { file } from './file.ts';
import { toolResult, userMessage } from './fragments.ts';
import { FILE_MAX_BYTES } from './limits.ts';

const PNG = { mediaType: 'image/png' };

describe('file()', () => {
  test('takes bytes, base64 and addresses', () => {
    expect(file({ ...PNG, data: new Uint8Array([1, 2, 3]) })).toEqual({ type: 'file', ...PNG, data: 'AQID' });
    expect(file({ ...PNG, data: 'AQID', filename: 'a.png' })).toMatchObject({ data: 'AQID', filename: 'a.png' });
    expect(file({ ...PNG, data: new URL('https://example.com/a.png') })).toMatchObject({
      url: 'https://example.com/a.png',
    });
  });

  test.each([
    ['mediaType', { mediaType: 'png', data: 'AQID' }],
    ['data', { ...PNG, data: '' }],
    ['data', { ...PNG, data: 'no base64!' }],
    ['data', { ...PNG, data: new Uint8Array(FILE_MAX_BYTES + 1) }],
    ['url', { ...PNG, data: new URL('file:///etc/passwd') }],
    ['filename', { ...PNG, data: 'AQID', filename: 'x'.repeat(300) }],
  ])('refuses by name: %s', (field, given) => {
    expect(() => file(given)).toThrow(expect.objectContaining({ code: 'file-invalid', details: { field } }));
  });
});

test('a message of text and files has a note where each file stands', () => {
  const at = file({ ...PNG, data: new URL('https://example.com/a.png') });
  expect(userMessage([at, 'What is it?'])).toEqual({
    type: 'user_message',
    text: '[image/png, https://example.com/a.png]\nWhat is it?',
    parts: {
      provider: null,
      spans: 1,
      text: JSON.stringify([
        { ...at, chars: 39 },
        { type: 'text', chars: 11 },
      ]),
    },
  });
});

describe("a tool's result has a file in words", () => {
  const data = Buffer.alloc(300, 'x').toString('base64');
  const words = (mediaType: string): string => `[${mediaType}, 300 bytes: a tool's file is not shown to the model]`;
  test.each([
    [
      'of MCP',
      {
        content: [
          { type: 'text', text: 'Seen.' },
          { type: 'image', data, mimeType: 'image/png' },
        ],
      },
      'image/png',
    ],
    ["a resource of MCP's", { resource: { uri: 'x:a', mimeType: 'application/pdf', blob: data } }, 'application/pdf'],
    ['of the AI SDK', [{ type: 'media', data, mediaType: 'image/jpeg' }], 'image/jpeg'],
    ['as an address of its bytes', { image: `data:image/webp;base64,${data}` }, 'image/webp'],
  ])('%s', (_, result, mediaType) => {
    const { text } = toolResult({ id: 'c', name: 'look' }, result as never);
    expect(text).toContain(words(mediaType));
    expect(text).not.toContain(data);
  });
});
