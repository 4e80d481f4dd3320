import * as z from 'zod';
import { countDifferent, isEqualJson } from './compare-json.ts';

const TYPES = ['null', 'boolean', 'object', 'array', 'number', 'integer', 'string'] as const;
type Type = (typeof TYPES)[number];

/**
 * A schema that answers are compared with: the part of JSON Schema 2020-12 that says the same in every validator.
 *
 * @see https://json-schema.org/draft/2020-12/json-schema-validation
 */
export interface JsonSchema {
  readonly type?: Type | readonly Type[] | undefined;
  readonly enum?: readonly unknown[] | undefined;
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly additionalProperties?: boolean | JsonSchema | undefined;
  readonly minProperties?: number | undefined;
  readonly maxProperties?: number | undefined;
  readonly prefixItems?: readonly JsonSchema[] | undefined;
  readonly items?: JsonSchema | undefined;
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly uniqueItems?: boolean | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly exclusiveMinimum?: number | undefined;
  readonly exclusiveMaximum?: number | undefined;
  readonly anyOf?: readonly JsonSchema[] | undefined;
  readonly allOf?: readonly JsonSchema[] | undefined;
  readonly oneOf?: readonly JsonSchema[] | undefined;
  readonly not?: JsonSchema | undefined;
}

const count = z.int().min(0);
const typeSchema = z.enum(TYPES);
const schemasSchema = z.array(z.lazy(() => jsonSchemaSchema)).min(1);

/**
 * Accepts the keywords of {@link JsonSchema}, and those that say nothing about a value. `pattern` is not among them,
 * because a scorer runs no expression that a user wrote; neither is `$ref`.
 */
export const jsonSchemaSchema: z.ZodType<JsonSchema> = z
  .strictObject({
    title: z.string(),
    description: z.string(),
    default: z.unknown(),
    examples: z.array(z.unknown()),
    type: z.union([typeSchema, z.array(typeSchema).min(1)]),
    enum: z.array(z.unknown()).min(1),
    const: z.unknown(),
    properties: z.record(
      z.string(),
      z.lazy(() => jsonSchemaSchema),
    ),
    required: z.array(z.string()),
    additionalProperties: z.union([z.boolean(), z.lazy(() => jsonSchemaSchema)]),
    minProperties: count,
    maxProperties: count,
    prefixItems: schemasSchema,
    items: z.lazy(() => jsonSchemaSchema),
    minItems: count,
    maxItems: count,
    uniqueItems: z.boolean(),
    minLength: count,
    maxLength: count,
    minimum: z.number(),
    maximum: z.number(),
    exclusiveMinimum: z.number(),
    exclusiveMaximum: z.number(),
    anyOf: schemasSchema,
    allOf: schemasSchema,
    oneOf: schemasSchema,
    not: z.lazy(() => jsonSchemaSchema),
  })
  .partial();

/** Whether a value fulfils a schema. A keyword for another type than the value's has no effect, as the standard says. */
export function fulfils(value: unknown, schema: JsonSchema): boolean {
  const { type, enum: values, anyOf, allOf, oneOf, not } = schema;
  return (
    (type === undefined || [type].flat().some((each) => isOfType(value, each))) &&
    (values === undefined || values.some((each) => isEqualJson(value, each))) &&
    (!Object.hasOwn(schema, 'const') || isEqualJson(value, schema.const)) &&
    (anyOf === undefined || anyOf.some((each) => fulfils(value, each))) &&
    (allOf === undefined || allOf.every((each) => fulfils(value, each))) &&
    (oneOf === undefined || oneOf.filter((each) => fulfils(value, each)).length === 1) &&
    (not === undefined || !fulfils(value, not)) &&
    fulfilsOfType(value, schema)
  );
}

/** What a schema says of values of one type. */
function fulfilsOfType(value: unknown, schema: JsonSchema): boolean {
  if (typeof value === 'string')
    return isWithin([...value].length, schema.minLength, schema.maxLength);
  if (typeof value === 'number' || typeof value === 'bigint') return fulfilsBounds(value, schema);
  if (Array.isArray(value)) return fulfilsItems(value, schema);
  return typeof value !== 'object' || value === null || fulfilsProperties(value, schema);
}

function isOfType(value: unknown, type: Type): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint';
    case 'integer':
      return Number.isInteger(value) || typeof value === 'bigint';
    default:
      return typeof value === type;
  }
}

function fulfilsBounds(
  value: number | bigint,
  { minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonSchema,
): boolean {
  return (
    isWithin(value, minimum, maximum) &&
    (exclusiveMinimum === undefined || value > exclusiveMinimum) &&
    (exclusiveMaximum === undefined || value < exclusiveMaximum)
  );
}

function fulfilsItems(items: readonly unknown[], schema: JsonSchema): boolean {
  const { prefixItems = [], items: others, minItems, maxItems, uniqueItems } = schema;
  return (
    isWithin(items.length, minItems, maxItems) &&
    items.every((item, index) => {
      const own = prefixItems[index] ?? others;
      return own === undefined || fulfils(item, own);
    }) &&
    (uniqueItems !== true || countDifferent(items) === items.length)
  );
}

function fulfilsProperties(value: object, schema: JsonSchema): boolean {
  const { properties = {}, required = [], additionalProperties: others = true } = schema;
  const entries: (readonly [string, unknown])[] = Object.entries(value);
  return (
    isWithin(entries.length, schema.minProperties, schema.maxProperties) &&
    required.every((key) => Object.hasOwn(value, key)) &&
    entries.every(([key, item]) => {
      const own = Object.hasOwn(properties, key) ? properties[key] : others;
      return typeof own === 'object' ? fulfils(item, own) : own !== false;
    })
  );
}

function isWithin(
  value: number | bigint,
  least = Number.NEGATIVE_INFINITY,
  most = Number.POSITIVE_INFINITY,
): boolean {
  return value >= least && value <= most;
}
