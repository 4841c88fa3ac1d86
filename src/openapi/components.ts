/** Any part of a document. */
export type Json = Readonly<Record<string, unknown>>

/** Schemas by their names, as they are found in a document. */
export type Components = Map<string, Json>

/** What stands under these keys is data: nothing in it is a schema. */
const DATA = new Set(['example', 'examples', 'default', 'enum', 'const'])

/**
 * Takes each schema that has a title out of a part of the document, puts a reference in its place, and writes
 * unions the way that generators of clients read best.
 *
 * @param components takes the schemas
 * @throws TypeError when two schemas that differ have one title
 */
export function extractSchemas(part: unknown, components: Components): unknown {
  if (Array.isArray(part)) return part.map((item) => extractSchemas(item, components))
  if (!isJson(part)) return part
  const entries = Object.entries(part).map(([key, value]) => {
    if (DATA.has(key)) return [key, value]
    // Its keys are names, whatever they are called.
    if (key === 'properties' && isJson(value)) return [key, extractValues(value, components)]
    return [key, extractSchemas(value, components)]
  })
  const plain = portable(plainUnion(Object.fromEntries(entries)))
  const { title, ...schema } = plain
  if (typeof title !== 'string' || !isSchema(plain)) return plain
  keep(components, title, schema)
  return { $ref: `#/components/schemas/${title}` }
}

function extractValues(schemas: Json, components: Components): Json {
  const entries = Object.entries(schemas)
  return Object.fromEntries(entries.map(([name, one]) => [name, extractSchemas(one, components)]))
}

function keep(components: Components, title: string, schema: Json): void {
  const known = components.get(title)
  // A parameter carries the description beside its schema.
  const isSame = known === undefined || withoutDescription(known) === withoutDescription(schema)
  if (!isSame) throw new TypeError(`two schemas of the contract are called ${title}`)
  components.set(title, { ...known, ...schema })
}

function withoutDescription({ description: _, ...schema }: Json): string {
  return JSON.stringify(Object.entries(schema).sort())
}

/**
 * Half characters are refused, but many expression engines can't name them, and no text in UTF-8 has one: to
 * them a pattern that does is broken as a whole.
 */
function portable(schema: Json): Json {
  const { pattern } = schema
  if (typeof pattern !== 'string') return schema
  return { ...schema, pattern: pattern.replaceAll('\\uD800-\\uDFFF', '') }
}

/** Alternatives that differ in one keyword become one schema: literals an `enum`, types a list of types. */
function plainUnion(schema: Json): Json {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf)) return schema
  if (anyOf.every((one) => typeof one.const === 'string')) {
    return { ...rest, type: 'string', enum: anyOf.map((one) => one.const) }
  }
  const [full = {}, ...bare] = anyOf.toSorted((a, b) => sizeOf(b) - sizeOf(a))
  const areTypes = [full, ...bare].every((one) => typeof one.type === 'string')
  const isNarrow = ['properties', 'const', 'enum'].some((key) => key in full)
  const isPlain = !isNarrow && bare.every((one) => sizeOf(one) === 1)
  if (!areTypes || !isPlain) return schema
  return { ...full, ...rest, type: anyOf.map((one) => one.type) }
}

const sizeOf = (value: object) => Object.keys(value).length

function isSchema(value: unknown): boolean {
  return isJson(value) && ['type', 'anyOf', 'allOf', '$ref'].some((key) => key in value)
}

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
