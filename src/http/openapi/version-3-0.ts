import { isJson, type Json } from './components.ts'

/** Values of these keys are data and contain no schemas. */
const DATA = new Set(['example', 'default', 'enum'])
/** Keys of these maps are names, whatever they are called. */
const MAPS = new Set(['properties', 'examples', 'headers', 'responses', 'schemas', 'content'])
/** Keywords of JSON Schema 2020-12 that OpenAPI 3.0 does not have; each only narrows a schema. */
const UNKNOWN = new Set(['patternProperties', 'propertyNames', 'unevaluatedProperties', '$schema'])

/**
 * Writes an OpenAPI 3.1 document as 3.0, for generators and gateways that refuse 3.1.
 *
 * Null becomes `nullable`, a constant an enum of one value, and what 3.0 can't say is left out: the
 * service still checks it.
 */
export function asVersion30(document: Json): Json {
  return { ...(converted(document) as Json), openapi: '3.0.3' }
}

function converted(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(converted)
  if (!isJson(part)) return part
  const entries = Object.entries(part).flatMap(([key, value]) => {
    if (UNKNOWN.has(key)) return []
    if (DATA.has(key)) return [[key, value]]
    if (MAPS.has(key) && isJson(value)) return [[key, mapped(value)]]
    return [[key, converted(value)]]
  })
  return withoutSiblings(withBounds(withNullable(Object.fromEntries(entries))))
}

function mapped(map: Json): Json {
  return Object.fromEntries(Object.entries(map).map(([name, one]) => [name, converted(one)]))
}

function isNull(schema: unknown): boolean {
  return isJson(schema) && schema['type'] === 'null'
}

function withNullable(schema: Json): Json {
  const { type, anyOf, oneOf, const: constant, examples, ...rest } = schema
  const [example] = Array.isArray(examples) ? examples : []
  const plain: Json = {
    ...rest,
    ...(isJson(examples) && { examples }),
    ...(example !== undefined && { example }),
    ...(constant !== undefined && { enum: [constant] }),
  }
  if (Array.isArray(type)) {
    const types = type.filter((one) => one !== 'null')
    const nullable = types.length < type.length && { nullable: true }
    if (types.length === 1) return { ...plain, type: types[0], ...nullable }
    return { ...plain, anyOf: types.map((one) => ({ type: one })), ...nullable }
  }
  for (const [key, choice] of Object.entries({ anyOf, oneOf })) {
    if (!Array.isArray(choice)) continue
    const others = choice.filter((one) => !isNull(one))
    const nullable = others.length < choice.length && { nullable: true }
    const [only] = others
    if (others.length > 1 || !isJson(only)) return { ...plain, [key]: others, ...nullable }
    const inner = '$ref' in only ? { allOf: [only] } : only
    return { ...inner, ...plain, ...nullable }
  }
  return type === undefined ? plain : { ...plain, type }
}

/** In 3.0 an open bound is a bound with a mark. */
function withBounds(schema: Json): Json {
  const { exclusiveMinimum, exclusiveMaximum, ...rest } = schema
  return {
    ...rest,
    ...(typeof exclusiveMinimum === 'number' && {
      minimum: exclusiveMinimum,
      exclusiveMinimum: true,
    }),
    ...(typeof exclusiveMaximum === 'number' && {
      maximum: exclusiveMaximum,
      exclusiveMaximum: true,
    }),
  }
}

/** Beside a reference 3.0 ignores everything. */
function withoutSiblings(schema: Json): Json {
  const { $ref, ...rest } = schema
  if ($ref === undefined || Object.keys(rest).length === 0) return schema
  return { ...rest, allOf: [{ $ref }] }
}
