/**
 * Owns how a message of the API reads at the command line: fields of requests and parameters of routes get the names of the command's options
 * and arguments, and what a user typed is cut where it is long. Pure.
 */

import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { VALUE_SHOWN_MAX_CHARS } from '../limits.ts';
import { cut } from '../text/width.ts';

/** What the API calls differently. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  resolution: 'as',
  about: 'user',
  cost_micros: 'usd',
  tags: 'tag',
  definition: 'workflow',
  observe_ms: 'observe',
};

const WRONG_REQUEST = 'The request is wrong: ';
const FIELD = /(^|; )(path|query|body)\.([a-z_]+)(?=[.:])/g;

/** The message in the words of the command: `--time-zone: …` and `<id>: …` for the fields `time_zone` and `path.workflow`. */
export function inWordsOf(command: CommandUnknownOpts | undefined, message: string): string {
  if (command === undefined) return message;
  if (!message.startsWith(WRONG_REQUEST)) {
    return message.replace(/^[a-z][A-Za-z_]*(?=: )/, (field) => nameOf(command, field, '') ?? field);
  }
  return message
    .slice(WRONG_REQUEST.length)
    .replace(
      FIELD,
      (_, before: string, part: string, field: string) => before + (nameOf(command, field, part) ?? field),
    );
}

function nameOf(command: CommandUnknownOpts, field: string, part: string): string | undefined {
  const named = [field, OTHER_NAMES[field]].flatMap((name) => (name === undefined ? [] : [camelCase(name)]));
  for (const name of named) {
    const option = command.options.find((each) => each.attributeName() === name);
    if (option?.long != null) return option.long;
    if (command.registeredArguments.some((each) => each.name() === name)) return `<${name}>`;
  }
  // A route's parameter that goes by another name is the thing that the command is about.
  const [first] = command.registeredArguments;
  return part === 'path' && first !== undefined ? `<${first.name()}>` : undefined;
}

const camelCase = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The message with each long argument cut, wherever it is quoted. */
export function withShortValues(message: string, args: readonly string[]): string {
  // `--input=VALUE` and `@FILE` are quoted without what is before.
  const values = args.flatMap((arg) => [arg, arg.replace(/^--[\w-]+=/, ''), arg.replace(/^@/, '')]);
  const long = values.filter((value) => value.length > VALUE_SHOWN_MAX_CHARS);
  return long.reduce((text, value) => text.replaceAll(value, cut(value, VALUE_SHOWN_MAX_CHARS)), message);
}
