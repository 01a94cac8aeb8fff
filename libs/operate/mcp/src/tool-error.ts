/**
 * Owns how a failure reads to a client: its stable code, the field, the message and what to do. It never shows a stack or a secret: any
 * error that isn't Tidemark's own goes to the server's log alone.
 */

import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { TidemarkError } from '@tidemark/core';
import { maskSecrets } from '@tidemark/secrets';
import type { z } from 'zod';

/** Wrong arguments that an answer names, and characters of a place and its fault: both may quote the call. */
const ISSUES_REPORTED_MAX_COUNT = 20;
const ISSUE_REPORTED_MAX_CHARS = 200;

interface ToolFailure {
  readonly code: string;
  readonly field: string | null;
  readonly message: string;
  readonly remedy: string;
}

/** By what the caller does next. */
const REMEDIES: Readonly<Record<string, string>> = {
  InvalidError: 'Correct what is named, and call again.',
  ConflictError: 'Read the state again, decide again, and call again.',
  UnavailableError: 'Wait a moment, and call again; nothing was lost.',
  LimitError: 'Make it smaller, and call again.',
  AccessError: 'Tell the person who runs this server: its credential is not good, or has no right to this.',
  ConfigError: 'Tell the person who runs this server: its place or its options are to be changed.',
  CorruptError: 'Stop, and tell a person: stored data is damaged, and was left as it is.',
};

export function toolError(error: unknown, onFault: (error: unknown) => void): CallToolResult {
  if (!(error instanceof TidemarkError)) {
    onFault(error);
    const message = 'The server failed. Its own log (standard error) says more.';
    return failed({ code: 'internal', field: null, message, remedy: 'Tell the person who runs this server.' });
  }
  const { name, code, message, details } = error;
  const remedy = REMEDIES[name] ?? 'Tell the person who runs this server.';
  return failed({ code, field: fieldIn(details), message: maskSecrets(message), remedy });
}

/** The field that the error names, of the tool or of its request; or the place of what must not be stored. */
function fieldIn({ field, fields, found }: TidemarkError['details']): string | null {
  const [asked, secret] = [fields, found].map((all) => (Array.isArray(all) ? all[0] : undefined));
  const place: unknown = field ?? asked?.field ?? secret?.place;
  return typeof place === 'string' ? place.replace(/^(?:path|query|body)\./, '') : null;
}

/** Faults by field; never the given value. */
export function badInput(tool: string, { issues }: z.ZodError): CallToolResult {
  const [first] = issues;
  const reported = issues.slice(0, ISSUES_REPORTED_MAX_COUNT).map(issueWords).join('; ');
  const field = first === undefined ? null : fieldOf(first);
  const message = `${tool}: ${maskSecrets(reported)}.`;
  return failed({ code: 'input-invalid', field, message, remedy: REMEDIES.InvalidError! });
}

function fieldOf(issue: z.core.$ZodIssue): string | null {
  const path = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]] : issue.path;
  return path.length === 0 ? null : path.join('.').slice(0, ISSUE_REPORTED_MAX_CHARS);
}

function issueWords(issue: z.core.$ZodIssue): string {
  const at = issue.path.length === 0 ? '' : `${issue.path.join('.').slice(0, ISSUE_REPORTED_MAX_CHARS)}: `;
  return `${at}${issue.message.charAt(0).toLowerCase()}${issue.message.slice(1, ISSUE_REPORTED_MAX_CHARS)}`;
}

/** As text for a model, and under `_meta` for programs: the structured part belongs to answers. */
const failed = (failure: ToolFailure): CallToolResult => ({
  isError: true,
  content: [
    {
      type: 'text',
      text: [
        `${failure.code}: ${failure.message}`,
        ...(failure.field === null ? [] : [`field: ${failure.field}`]),
        `remedy: ${failure.remedy}`,
      ].join('\n'),
    },
  ],
  _meta: { 'tidemark/error': { ...failure } },
});
