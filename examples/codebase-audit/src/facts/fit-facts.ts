// Owns the bound on the facts of one file as a whole. The caps of single lists leave room for a file built to be all names;
// what is left out here is counted like theirs.

import { MAX_FACTS_BYTES } from '../limits.ts';
import type { FileFacts } from './facts.ts';

/** The facts, with as much left out as it takes to fit into MAX_FACTS_BYTES of JSON. */
export function fitFacts(facts: FileFacts): FileFacts {
  let fitting = facts;
  for (const lessen of [withoutImportedNames, withoutCalls]) {
    if (fits(fitting)) return fitting;
    fitting = lessen(fitting);
  }
  while (!fits(fitting) && fitting.imports.length + fitting.exports.length > 0) fitting = halved(fitting);
  return fitting;
}

const fits = (facts: FileFacts): boolean => Buffer.byteLength(JSON.stringify(facts)) <= MAX_FACTS_BYTES;

/** `*`: all of it, or not known which. */
function withoutImportedNames(facts: FileFacts): FileFacts {
  return { ...facts, imports: facts.imports.map((item) => (item.names.length > 1 ? { ...item, names: ['*'] } : item)) };
}

function withoutCalls({ calls, ...facts }: FileFacts): FileFacts {
  if (calls === undefined) return facts;
  return { ...facts, cut: { ...facts.cut, calls: (facts.cut?.calls ?? 0) + calls.length } };
}

function halved(facts: FileFacts): FileFacts {
  const imports = facts.imports.slice(0, facts.imports.length >> 1);
  const exports = facts.exports.slice(0, facts.exports.length >> 1);
  return {
    ...facts,
    imports,
    exports,
    cut: {
      ...facts.cut,
      imports: (facts.cut?.imports ?? 0) + facts.imports.length - imports.length,
      exports: (facts.cut?.exports ?? 0) + facts.exports.length - exports.length,
    },
  };
}
