/** Owns reading protobuf without a schema, and the values of attributes, for the tests' own collector. */

export type ReceivedValue = string | number | boolean | readonly ReceivedValue[] | null;

export type Field = bigint | Buffer;

/** Fields of one message by number: varints and fixed-width numbers as bigints, the rest as bytes. */
export function fieldsOf(bytes: Buffer): ReadonlyMap<number, readonly Field[]> {
  const fields = new Map<number, Field[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const [number, wire] = [tag >> 3, tag & 7];
    let value: Field;
    if (wire === 0) value = varint();
    else if (wire === 1) {
      value = bytes.readBigUInt64LE(at);
      at += 8;
    } else if (wire === 5) {
      value = BigInt(bytes.readUInt32LE(at));
      at += 4;
    } else if (wire === 2) {
      const length = Number(varint());
      value = bytes.subarray(at, at + length);
      at += length;
    } else throw new Error(`wire type ${wire} is not of proto3`);
    const known = fields.get(number);
    if (known === undefined) fields.set(number, [value]);
    else known.push(value);
  }
  return fields;
}

export type Fields = ReturnType<typeof fieldsOf>;
export const messages = (fields: Fields, number: number): readonly Fields[] =>
  (fields.get(number) ?? []).map((field) => fieldsOf(field as Buffer));
export const hex = (fields: Fields, number: number): string =>
  ((fields.get(number)?.[0] ?? Buffer.alloc(0)) as Buffer).toString('hex');
export const textOf = (fields: Fields, number: number): string =>
  ((fields.get(number)?.[0] ?? Buffer.alloc(0)) as Buffer).toString();

export function protobufValue(value: Fields | undefined): ReceivedValue {
  if (value === undefined) return null;
  if (value.has(1)) return textOf(value, 1);
  if (value.has(2)) return value.get(2)![0] === 1n;
  if (value.has(3)) return Number(BigInt.asIntN(64, value.get(3)![0] as bigint));
  if (value.has(4)) {
    const bits = Buffer.alloc(8);
    bits.writeBigUInt64LE(value.get(4)![0] as bigint);
    return bits.readDoubleLE();
  }
  return messages(messages(value, 5)[0] ?? new Map(), 1).map(protobufValue);
}

export function jsonValue(value: Readonly<Record<string, unknown>>): ReceivedValue {
  const [kind, held] = Object.entries(value)[0] ?? [];
  if (kind === 'arrayValue') {
    return ((held as { readonly values?: readonly Readonly<Record<string, unknown>>[] }).values ?? []).map(jsonValue);
  }
  if (kind === 'intValue') return Number(held);
  return (held ?? null) as ReceivedValue;
}
