/**
 * Owns how a message of the API reads at the command line: fields of requests and parameters of routes get the names of the command's options
 * and arguments, and what a user typed is cut where it is long. Pure.
 */

import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import type { TidemarkError } from '@tidemark/core';
import { cut } from '../text/width.ts';

/** Longest argument that a failure quotes whole, in characters. */
const VALUE_SHOWN_MAX_CHARS = 200;

/** What the API calls differently. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  resolution: 'as',
  about: 'user',
  cost_micros: 'usd',
  tags: 'tag',
  definition: 'workflow',
  observe_ms: 'observe',
};

/** The message in the words of the command: `--tag: …` and `<id>: …` for the fields `body.tags.0` and `path.workflow`. */
export function inWordsOf(command: CommandUnknownOpts | undefined, { message, details }: TidemarkError): string {
  if (command === undefined) return message;
  const fields = (details.fields ?? []) as readonly { readonly field: string; readonly problem: string }[];
  if (fields.length === 0) return message.replace(/^[a-z][A-Za-z_\d.]*(?=: )/, (field) => nameOf(command, field));
  return `${fields.map(({ field, problem }) => `${nameOf(command, field)}: ${problem}`).join('; ')}.`;
}

/**
 * `field`: its part of the request, and its names from outside in, with dots between; the innermost that the command has was typed. What is
 * wrong within a value is named behind it: `--value: boxes`.
 */
function nameOf(command: CommandUnknownOpts, field: string): string {
  const [, part, own = field] = /^(path|query|body)\.(.+)$/.exec(field) ?? [];
  const names = own.split('.');
  for (let at = names.length - 1; at >= 0; at--) {
    const within = names.slice(at + 1).join('.');
    const behind = within === '' || /^\d+$/.test(within) ? '' : `: ${within}`;
    for (const name of [names[at]!, OTHER_NAMES[names[at]!] ?? []].flat().map(camelCase)) {
      const option = command.options.find((each) => each.attributeName() === name);
      if (option?.long != null) return `${option.long}${behind}`;
      if (command.registeredArguments.some((each) => each.name() === name)) return `<${name}>${behind}`;
    }
  }
  // A route's parameter that goes by another name is the thing that the command is about.
  const [first] = command.registeredArguments;
  return part === 'path' && first !== undefined ? `<${first.name()}>` : own;
}

const camelCase = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The message with each long argument cut, wherever it is quoted. */
export function withShortValues(message: string, args: readonly string[]): string {
  // `--input=VALUE` and `@FILE` are quoted without what is before.
  const values = args.flatMap((arg) => [arg, arg.replace(/^--[\w-]+=/, ''), arg.replace(/^@/, '')]);
  const long = values.filter((value) => value.length > VALUE_SHOWN_MAX_CHARS);
  return long.reduce((text, value) => text.replaceAll(value, cut(value, VALUE_SHOWN_MAX_CHARS)), message);
}
