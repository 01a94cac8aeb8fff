// Owns the rule `hard-coded-credential`: a literal that is a secret, by its format anywhere in the text (comments too), or by
// the name it is given. Evidence is masked elsewhere; every value found here is taught to the redactor first.

import { keyName, literalText, memberName, type Node, unwrap } from '../facts/ast.ts';
import type { Severity } from '../facts/facts.ts';
import type { Collected } from '../facts/scopes.ts';
import { credentialName, isCredentialValue, type KnownSecret, knownSecrets, type Redactor } from '../secrets.ts';
import type { RawFinding } from './report-finding.ts';

/** `lenient`: a test, a fixture, an example: a value that only its name gives away counts less there. */
export function hardCodedCredentials(
  collected: Collected,
  text: string,
  redactor: Redactor,
  lenient: boolean,
): RawFinding[] {
  const found: RawFinding[] = [];
  let end = 0;
  for (const secret of knownSecrets(text)) {
    if (secret.offset < end) continue; // part of the one before
    end = secret.offset + secret.text.length;
    if (secret.name === 'password in a URL') redactor.learn(secret.text); // the other formats give themselves away
    found.push(byFormat(secret, lenient));
  }
  const seen = new Set<number>();
  for (const { name, value } of namedValues(collected)) {
    const kind = credentialName(name);
    if (kind === 'none') continue;
    for (const literal of literalsOf(value)) {
      const written = literalText(literal);
      if (written === undefined || seen.has(literal.start) || !isCredentialValue(written, kind)) continue;
      seen.add(literal.start);
      redactor.learn(written);
      redactor.learn(text.slice(literal.start + 1, literal.end - 1)); // as written, where escapes differ
      if (knownSecrets(written).length > 0) continue; // found by its format already
      const severity: Severity = lenient ? 'low' : literal === value ? 'high' : 'medium';
      const how = literal === value ? 'is given a fixed value' : 'falls back to a fixed value';
      found.push({ rule: 'hard-coded-credential', severity, node: literal, message: `${name} ${how}` });
    }
  }
  return found;
}

/** Formats that tests and documentation are full of, with values that open nothing. */
const OFTEN_HARMLESS = new Set(['JSON web token', 'password in a URL']);

function byFormat(secret: KnownSecret, lenient: boolean): RawFinding {
  const node = { type: 'Literal', start: secret.offset, end: secret.offset + secret.text.length } as Node;
  const rule = 'hard-coded-credential';
  if (!secret.certain) {
    return { rule, severity: 'low', node, message: `the header of a ${secret.name}, without a body beside it` };
  }
  const severity = OFTEN_HARMLESS.has(secret.name) ? (lenient ? 'low' : 'medium') : 'high';
  return { rule, severity, node, message: `the text has the form of a ${secret.name}` };
}

/** Every place where a value gets a name, or is compared with one. */
function* namedValues(collected: Collected): Generator<{ name: string; value: Node }> {
  for (const { node } of collected.of('VariableDeclarator')) {
    if (node.id.type === 'Identifier' && node.init !== null) yield { name: node.id.name, value: unwrap(node.init) };
  }
  for (const { node } of collected.of('Property')) {
    const name = keyName(node.key, node.computed);
    if (name !== undefined) yield { name, value: unwrap(node.value) };
  }
  for (const { node } of collected.of('PropertyDefinition')) {
    const name = keyName(node.key, node.computed);
    if (name !== undefined && node.value !== null) yield { name, value: unwrap(node.value) };
  }
  for (const { node } of collected.of('AssignmentExpression')) {
    const name = targetName(node.left);
    if (name !== undefined && /^(?:\|\||\?\?)?=$/.test(node.operator)) yield { name, value: unwrap(node.right) };
  }
  for (const { node } of collected.of('AssignmentPattern')) {
    const name = targetName(node.left);
    if (name !== undefined) yield { name, value: unwrap(node.right) };
  }
  for (const { node } of collected.of('JSXAttribute')) {
    if (node.name.type === 'JSXIdentifier' && node.value?.type === 'Literal')
      yield { name: node.name.name, value: node.value };
  }
  for (const { node } of collected.of('BinaryExpression')) {
    if (!/^[!=]==?$/.test(node.operator)) continue;
    const name = targetName(node.left);
    if (name !== undefined) yield { name, value: unwrap(node.right) };
  }
}

function targetName(node: Node): string | undefined {
  const inner = unwrap(node);
  if (inner.type === 'Identifier') return inner.name;
  return inner.type === 'MemberExpression' ? memberName(inner) : undefined;
}

/** The literals a value may turn out to be: itself, a fallback, a branch. */
function literalsOf(value: Node): Node[] {
  if (value.type === 'LogicalExpression') return [unwrap(value.left), unwrap(value.right)];
  if (value.type === 'ConditionalExpression') return [unwrap(value.consequent), unwrap(value.alternate)];
  return [value];
}
