/** Owns texts that are JSON no more, or more of it than anybody wants: each follows from a generator of random numbers. */

import type { SeededRandom } from '@tidemark/testkit/simulation/random';

type Make = (random: SeededRandom, valid: string) => string | Buffer;

/** Of these lengths, so that a bound is met from both sides. */
const repeat = (text: string, random: SeededRandom, most: number): string =>
  text.repeat(1 + random.int(random.chance(0.02) ? most : Math.ceil(most / 200)));

function changed(random: SeededRandom, valid: string): Buffer {
  const bytes = Buffer.from(valid);
  for (let count = random.count(1, 8); count > 0; count--) bytes[random.int(bytes.length)] = random.int(256);
  return bytes;
}

/** Names say what is wrong with them. */
export const JSON_KINDS: Readonly<Record<string, Make>> = {
  'changed bytes': changed,
  'cut off': (random, valid) => valid.slice(0, random.int(valid.length)),
  'said twice': (_, valid) => valid + valid,
  'many values': (random) => `{"value":[${repeat('{},', random, 1_300_000)}0]}`,
  'many empty keys': (random) => `{"value":{${repeat('"":0,', random, 800_000)}"a":0}}`,
  deep: (random) => {
    const levels = random.count(60, 20_000);
    return `{"value":${'['.repeat(levels)}${']'.repeat(random.chance(0.5) ? levels : 0)}}`;
  },
  'deep objects': (random) => `{"value":${'{"a":'.repeat(random.count(60, 10_000))}`,
  'a long key': (random) => `{"${'k'.repeat(random.count(1_000, 60_000))}":1}`,
  'a number too large': (random) =>
    `{"value":${random.pick(['9007199254740993', '1e400', '-1e999', '12345678901234567890'])}}`,
  'digits without end': (random) => `{"value":${'1'.repeat(random.count(60, 60_000))}}`,
  'a prototype': (random) => `{"${random.pick(['__proto__', 'constructor'])}":{"prototype":{"x":1}},"value":1}`,
  'no UTF-8': (random) =>
    Buffer.concat([Buffer.from('{"value":"'), Buffer.from([0xc3, 0x28, 0xff, random.int(256)]), Buffer.from('"}')]),
  'half of a character': () => '{"value":"\\ud83d"}',
  'a NUL': () => '{"value":"a\\u0000b"}',
  'another type': (random) => random.pick(['[]', '"text"', '12', 'null', 'true', '', ' ', '{}']),
  'a field of another type': (random, valid) => {
    const fields = JSON.parse(valid) as Record<string, unknown>;
    for (const key of Object.keys(fields))
      if (random.chance(0.5)) fields[key] = random.pick<unknown>([[], {}, -1, 1.5, null, true, 'x'.repeat(3_000)]);
    return JSON.stringify(fields);
  },
  'unknown fields': (random, valid) => `{"${'f'.repeat(random.count(1, 40))}":[1,2],${valid.slice(1)}`,
  'words that take long to search': (random) =>
    JSON.stringify({
      value: random
        .pick(['password is ', 'a_', 'eyJ', 'secret:', '-----BEGIN ', 'arn:aws:s3:', '((((', '\t \t'])
        .repeat(random.count(10, 3_000)),
    }),
};
