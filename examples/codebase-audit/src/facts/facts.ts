// Owns the shape of what the audit knows about one file: plain JSON values, small enough for a checkpoint.
// Must not: hold source text beyond redacted evidence, absolute paths, times, or anything that two runs could see differently.
// The caps named in limits.ts apply; `cut` says how many entries each list lost.

import { z } from 'zod';

export const RULES = [
  'dynamic-code',
  'shell-command',
  'hard-coded-credential',
  'unbounded-recursion',
  'parse-error',
  'import-cycle',
  'dead-export',
] as const;
export const SEVERITIES = ['high', 'medium', 'low', 'info'] as const;

export const findingSchema = z.object({
  rule: z.enum(RULES),
  severity: z.enum(SEVERITIES),
  /** Relative, with forward slashes. */
  file: z.string(),
  /** Counted from 1. */
  line: z.number().int(),
  /** Counted from 1, in UTF-16 units. */
  column: z.number().int(),
  message: z.string(),
  /** The source in question on one line, secrets masked, at most MAX_EVIDENCE_CHARS. */
  evidence: z.string(),
});

export const importFactSchema = z.object({
  /** As written; `dir/*` for a template whose constant part ends inside a directory. */
  from: z.string(),
  /** Imported names: `default`, `*` (all, or not known which), or the exported name. Empty: imported for its effects. */
  names: z.array(z.string()),
  /** `reference`: the file is named (`new URL`, `require.resolve`), so it is in use, but not evaluated by this file. */
  kind: z.enum(['static', 'dynamic', 'require', 'type', 'reference']),
  line: z.number().int(),
});

export const exportFactSchema = z.object({
  /** `default`, `*` for `export * from`, `=` for a whole `module.exports`, or the name. */
  name: z.string(),
  line: z.number().int(),
  /** The specifier it is re-exported from. */
  from: z.string().optional(),
  /** Its name there, when that differs; `*` for a namespace. */
  imported: z.string().optional(),
  /** A type, an interface or a declaration: nothing of it exists at run time. */
  type: z.literal(true).optional(),
  /** Its own file uses the name as well. */
  local: z.literal(true).optional(),
});

/** An exported function that calls an imported one on every path: what cross-file recursion is found from. */
export const callLinkSchema = z.object({ name: z.string(), line: z.number().int(), from: z.string(), to: z.string() });

export const fileFactsSchema = z.object({
  path: z.string(),
  /** Of the bytes as read; empty when the file could not be read. */
  sha256: z.string(),
  bytes: z.number().int(),
  lines: z.number().int(),
  language: z.enum(['js', 'jsx', 'ts', 'tsx', 'dts']),
  /** `partial`: the parser recovered from an error; `unparsed`: nothing but the size is known. */
  status: z.enum(['parsed', 'partial', 'unparsed', 'unreadable']),
  functions: z.number().int(),
  imports: z.array(importFactSchema),
  exports: z.array(exportFactSchema),
  findings: z.array(findingSchema),
  calls: z.array(callLinkSchema).optional(),
  /** Starts with a hashbang: run by name, so its exports have users that no import shows. */
  executable: z.literal(true).optional(),
  /** Imports whose specifier is computed and unknown. */
  opaqueImports: z.number().int().optional(),
  cut: z
    .object({
      findings: z.number().int().optional(),
      imports: z.number().int().optional(),
      exports: z.number().int().optional(),
      calls: z.number().int().optional(),
    })
    .optional(),
});

export type Rule = (typeof RULES)[number];
export type Severity = (typeof SEVERITIES)[number];
export type Finding = z.infer<typeof findingSchema>;
export type ImportFact = z.infer<typeof importFactSchema>;
export type ExportFact = z.infer<typeof exportFactSchema>;
export type CallLink = z.infer<typeof callLinkSchema>;
export type FileFacts = z.infer<typeof fileFactsSchema>;
export type Language = FileFacts['language'];
