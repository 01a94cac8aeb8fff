/** Owns validating lists of what is shipped by the published schemas of their formats. Neither uses the network. */
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
// As published with SPDX 2.3 (spdx/spdx-spec, tag v2.3, schemas/spdx-schema.json; CC-BY-3.0), unchanged.
import spdxSchema from './spdx-2.3.schema.json' with { type: 'json' };

/** Compiles the schema once. */
const cycloneDx = new Validation.JsonStrictValidator(Spec.Version.v1dot6);

/** Its faults; empty: it is valid. */
export async function cycloneDxFaults(json: string): Promise<readonly string[]> {
  const found = await cycloneDx.validate(json);
  return found === null ? [] : [JSON.stringify(found)];
}

/** Its faults; empty: it is valid. */
export function spdxFaults(json: string): readonly string[] {
  const ajv = new Ajv({ strict: false, allErrors: true });
  formats.default(ajv);
  const document = JSON.parse(json) as SpdxShape;
  if (!ajv.validate(spdxSchema, document)) return (ajv.errors ?? []).map((error) => ajv.errorsText([error]));
  // What the schema can't express.
  const ids = document.packages.map(({ SPDXID }) => SPDXID);
  const known = new Set([...ids, 'SPDXRef-DOCUMENT']);
  if (known.size !== ids.length + 1) return ['an SPDXID stands for two packages'];
  const ends = document.relationships.flatMap((one) => [one.spdxElementId, one.relatedSpdxElement]);
  return ends.filter((id) => !known.has(id)).map((id) => `a relationship leads to ${id}, which is nowhere`);
}

interface SpdxShape {
  readonly packages: readonly { readonly SPDXID: string }[];
  readonly relationships: readonly { readonly spdxElementId: string; readonly relatedSpdxElement: string }[];
}
