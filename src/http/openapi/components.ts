/** Any object in the document. */
export type Json = Readonly<Record<string, unknown>>

export type Components = Map<string, Json>

/** Values of these keys are data and contain no schemas. */
const DATA = new Set(['example', 'examples', 'default', 'enum', 'const'])

/**
 * Replaces each schema that has a title by a reference, and rewrites unions in the form that client
 * generators handle best.
 *
 * @param components receives the extracted schemas
 * @throws TypeError if two different schemas have the same title
 */
export function extractSchemas(part: unknown, components: Components): unknown {
  if (Array.isArray(part)) return part.map((item) => extractSchemas(item, components))
  if (!isJson(part)) return part
  const entries = Object.entries(part).map(([key, value]) => {
    if (DATA.has(key)) return [key, value]
    // The keys of `properties` are names of fields, even if one is called `enum`.
    if (key === 'properties' && isJson(value)) return [key, extractValues(value, components)]
    return [key, extractSchemas(value, components)]
  })
  const plain = withWidth(portable(plainUnion(Object.fromEntries(entries))))
  const { title, ...schema } = plain
  if (typeof title !== 'string' || !isSchema(plain)) return plain
  addComponent(components, title, schema)
  return { $ref: `#/components/schemas/${title}` }
}

function extractValues(schemas: Json, components: Components): Json {
  const entries = Object.entries(schemas)
  return Object.fromEntries(entries.map(([name, one]) => [name, extractSchemas(one, components)]))
}

function addComponent(components: Components, title: string, schema: Json): void {
  const known = components.get(title)
  // Parameters have their description outside the schema.
  const isSame = known === undefined || withoutDescription(known) === withoutDescription(schema)
  if (!isSame) throw new TypeError(`two different schemas have the name ${title}`)
  components.set(title, { ...known, ...schema })
}

function withoutDescription({ description: _, ...schema }: Json): string {
  return JSON.stringify(Object.entries(schema).sort())
}

/**
 * Removes surrogates from patterns. The service rejects lone surrogates, but many regular
 * expression engines reject a pattern that mentions them, and UTF-8 text can't contain them anyway.
 */
function portable(schema: Json): Json {
  const { pattern } = schema
  if (typeof pattern !== 'string') return schema
  return { ...schema, pattern: pattern.replaceAll('\\uD800-\\uDFFF', '') }
}

const WIDTHS = new Set<unknown>(['double', 'int32', 'int64'])

function withoutWidth({ format, ...schema }: Json): Json {
  return format === undefined || WIDTHS.has(format) ? schema : { ...schema, format }
}

const INT32_MAX = 2 ** 31 - 1

/**
 * Adds the number of bits to a number. Without it generators use 32 bits: Go and Rust would read a
 * score as `float32`, Java and C# an unbounded count as `int`.
 */
function withWidth(schema: Json): Json {
  const { type, maximum } = schema
  const types = (Array.isArray(type) ? type : [type]).filter((one) => one !== 'null')
  if (types.length !== 1 || 'format' in schema) return schema
  if (types[0] === 'number') return { ...schema, format: 'double' }
  if (types[0] !== 'integer') return schema
  const isSmall = typeof maximum === 'number' && maximum <= INT32_MAX
  return { ...schema, format: isSmall ? 'int32' : 'int64' }
}

/**
 * Merges alternatives that differ in one keyword: literals become an `enum`, types a list of types.
 * All other unions become `oneOf`, because their alternatives exclude each other and
 * typescript-axios merges those of an `anyOf` into one type with all fields.
 */
function plainUnion(schema: Json): Json {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf)) return schema
  if (anyOf.every((one) => typeof one.const === 'string')) {
    return { ...rest, type: 'string', enum: anyOf.map((one) => one.const) }
  }
  // A width belongs to a single type; `withWidth` adds it again if the union has only one.
  const [full = {}, ...bare] = anyOf
    .map(withoutWidth)
    .toSorted((a, b) => computeSize(b) - computeSize(a))
  const areTypes = [full, ...bare].every((one) => typeof one.type === 'string')
  const isNarrow = ['properties', 'const', 'enum'].some((key) => key in full)
  const isPlain = !isNarrow && bare.every((one) => computeSize(one) === 1)
  const hasNull = anyOf.some((one) => one.type === 'null')
  if (!areTypes || !isPlain) return hasNull ? schema : { ...rest, oneOf: anyOf }
  return { ...full, ...rest, type: anyOf.map((one) => one.type) }
}

const computeSize = (value: object) => Object.keys(value).length

function isSchema(value: unknown): boolean {
  return isJson(value) && ['type', 'anyOf', 'oneOf', 'allOf', '$ref'].some((key) => key in value)
}

/**
 * Gives a value that occurs in several enums a unique name in each, because Go's constants share
 * one name space.
 *
 * @param components modified in place
 */
export function nameSharedValues(components: Components): void {
  const enums = [...components].filter(([, { enum: values }]) => Array.isArray(values))
  const uses = enums.flatMap(([, schema]) => (schema['enum'] as string[]).map(formatName))
  const isShared = (name: string) => uses.indexOf(name) !== uses.lastIndexOf(name)
  for (const [title, schema] of enums) {
    const names = (schema['enum'] as string[]).map(formatName)
    if (!names.some(isShared)) continue
    const prefix = formatName(title.replace(/(?<=[a-z])(?=[A-Z])/g, '_'))
    const own = names.map((name) => (isShared(name) ? `${prefix}_${name}` : name))
    components.set(title, { ...schema, 'x-enum-varnames': own })
  }
}

const formatName = (value: string) => value.toUpperCase().replace(/\W+/g, '_')

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
