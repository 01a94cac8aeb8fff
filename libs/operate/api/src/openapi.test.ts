import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { allRoutes } from './routes.ts';
import { documentOf } from './server.ts';

const document = documentOf();

describe('the OpenAPI document', () => {
  it('is valid', async () => {
    const found = await new Validator().validate(structuredClone(document) as never);
    expect(found).toMatchObject({ valid: true });
  });

  it('is found wrong where it is (control)', async () => {
    const wrong = { ...structuredClone(document), paths: { '/x': { get: { responses: 'none' } } } };
    expect(await new Validator().validate(wrong as never)).toMatchObject({ valid: false });
  });

  it('has every route once, with a name of its own', () => {
    const names = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map((operation) => (operation as { readonly operationId: string }).operationId),
    );
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(expect.arrayContaining(allRoutes.map(({ name }) => name)));
  });

  it('refers to nothing that it does not have', () => {
    const { schemas } = document.components as { readonly schemas: object };
    const wanted = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, to]) => to!);
    for (const to of wanted) expect(Object.keys(schemas).map((name) => `#/components/schemas/${name}`)).toContain(to);
  });
});
