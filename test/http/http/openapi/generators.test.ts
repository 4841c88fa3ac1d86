import { beforeAll, expect, test } from 'vitest'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'

type Json = Readonly<Record<string, unknown>>

/** A part of the document, and where it stands in it: `components.schemas.Model.properties.id`. */
interface Place {
  readonly at: string
  readonly part: Json
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly schema: Json
}

interface Operation {
  readonly operationId: string
  readonly parameters?: readonly Parameter[]
  readonly responses: Readonly<Record<string, { content?: Readonly<Record<string, Json>> }>>
}

// The document is the same on every database.
const [backend = expect.fail('there is a database')] = backends

const service = TestService.forSuite(backend)
let schemas: Readonly<Record<string, Json>>
let operations: readonly Operation[]
/** Every schema of the document, those inside of others included. */
let places: readonly Place[]

beforeAll(async () => {
  const document = (await service.call({ method: 'GET', url: '/openapi.json' })).json()
  schemas = document.components.schemas
  operations = Object.values<Record<string, Operation>>(document.paths).flatMap((methods) =>
    Object.values(methods),
  )
  const { paths, components } = document
  places = placesIn({ paths, schemas, responses: components.responses }, '')
})

/** What stands under these keys is data. */
const DATA = new Set(['example', 'examples'])

function placesIn(part: unknown, at: string): Place[] {
  if (typeof part !== 'object' || part === null) return []
  const below = Object.entries(part).flatMap(([key, one]) =>
    DATA.has(key) ? [] : placesIn(one, at === '' ? key : `${at}.${key}`),
  )
  return Array.isArray(part) ? below : [{ at, part: part as Json }, ...below]
}

const where = (isFaulty: (place: Place) => boolean) => places.filter(isFaulty).map(({ at }) => at)

function readTypes({ type }: Json): readonly unknown[] {
  return (Array.isArray(type) ? type : [type]).filter((one) => one !== 'null')
}

const resolved = (schema: Json): Json =>
  schemas[String(schema['$ref']).replace('#/components/schemas/', '')] ?? schema

const isNamed = (at: string) => /^schemas\.\w+$/.test(at)

// Java's generators write code that does not compile for a choice of an array and a map.
test('no schema is a choice that holds an array or a map', () => {
  const isCollection = (one: Json) =>
    'items' in one || typeof one['additionalProperties'] === 'object'
  const choices = where(({ part: { anyOf, oneOf } }) =>
    [anyOf, oneOf].some((some) => Array.isArray(some) && some.map(resolved).some(isCollection)),
  )
  expect(choices).toEqual([])
  expect(
    where(({ part }) => readTypes(part).includes('array') && readTypes(part).length > 1),
  ).toEqual([])
})

// Generators call what has no name Inner or InlineObject12, and another name with the next release.
test('every object with properties and every choice of values is a named component', () => {
  const isNameless = ({ at, part }: Place) =>
    !isNamed(at) && (isObjectSchema(part) || Array.isArray(part['enum']))
  expect(where(isNameless)).toEqual([])
  expect(Object.keys(schemas)).toEqual(expect.arrayContaining(['ErrorCode', 'KeyScope']))
})

function isObjectSchema({ type, properties }: Json): boolean {
  return type === 'object' && typeof properties === 'object'
}

// Go's generator makes constants of a package of them: two of one name do not compile.
test('no value of an enum has the name of a value of another enum', () => {
  const named = Object.values(schemas).filter((schema) => Array.isArray(schema['enum']))
  const names = named.flatMap((schema) => {
    const own = schema['x-enum-varnames'] ?? schema['enum']
    return (own as string[]).map((name) => name.toUpperCase().replace(/\W+/g, '_'))
  })
  expect(names.filter((name, index) => names.indexOf(name) < index)).toEqual([])
  expect(names).toContain('IMPORT_TOOL_PMML')
})

// typescript-axios mixes the alternatives of an anyOf into one type, which then fits none of them.
test('alternatives that exclude each other are a oneOf, and anyOf says only that null is allowed', () => {
  const choices = where(
    ({ part: { anyOf } }) =>
      Array.isArray(anyOf) && !(anyOf.length === 2 && anyOf.some((one) => one.type === 'null')),
  )
  expect(choices).toEqual([])
  for (const name of ['Feature', 'TrafficRequest', 'Warning']) {
    expect(schemas[name], name).toHaveProperty('oneOf')
  }
})

// One type of error, that one part of a client's code handles.
test('all errors of all operations have one and the same schema', () => {
  const bodies = places.filter(({ at }) => /^responses\.\w+\.content\.[^.]+\.schema$/.test(at))
  expect(bodies.length).toBeGreaterThan(20)
  expect(new Set(bodies.map(({ part }) => part['$ref']))).toEqual(
    new Set(['#/components/schemas/ErrorBody']),
  )
})

// Go's and Rust's generators read a number without a format as float32, and a score loses its bits.
test('every number is a double, and every integer states its width', () => {
  const isVague = ({ part }: Place) => {
    const [type, ...more] = readTypes(part)
    if (more.length > 0 || (type !== 'number' && type !== 'integer')) return false
    return !(type === 'number' ? ['double'] : ['int32', 'int64']).includes(String(part['format']))
  }
  expect(where(isVague)).toEqual([])
  const { properties: summary } = schemas['StatsSummary'] as { properties: Json }
  // At 1,000 applicants a second 32 bits are full in 25 days.
  expect(summary['total_requests']).toMatchObject({ type: 'integer', format: 'int64' })
})

// typescript-axios takes a choice apart in a loop whose variable is called key, as the parameter
// is.
test('every parameter is one value or a list of values, never a choice', () => {
  const isPlain = (schema: Json): boolean => {
    const { type, items } = resolved(schema)
    if (type === 'array') return isPlain(items as Json) && (items as Json)['type'] !== 'array'
    return ['string', 'integer', 'number', 'boolean'].includes(String(type))
  }
  const parameters = operations.flatMap(({ parameters: its = [] }) => its)
  expect(parameters.length).toBeGreaterThan(20)
  expect(parameters.filter(({ schema }) => !isPlain(schema)).map(({ name }) => name)).toEqual([])
  expect(parameters.find(({ name }) => name === 'key')).toMatchObject({
    schema: { type: 'array', items: { type: 'string' } },
  })
})

// Generators take the first content for the type of all: Python's refuses SQL that was to be JSON.
test('an answer that can be a file is a file to clients that know one type for an answer', () => {
  for (const { operationId, responses } of operations) {
    const { content = {} } = responses['200'] ?? {}
    const types = Object.entries(content)
    if (types.length < 2) continue
    const [[, first] = expect.fail(operationId)] = types
    expect(first, operationId).toMatchObject({ schema: { type: 'string', format: 'binary' } })
    const [lastType, last] = types.at(-1) ?? expect.fail(operationId)
    if (lastType === 'application/json') expect(last).toHaveProperty('schema.$ref')
    else expect(last, operationId).toMatchObject({ schema: { type: 'string' } })
  }
  const exported = operations.find(({ operationId }) => operationId === 'models.export')
  expect(Object.keys(exported?.responses['200']?.content ?? {})).toEqual([
    'application/sql',
    'application/xml',
    'application/json',
  ])
})

// The service keeps what it does not know of a specification; a client that drops it loses it for
// all.
test('every part of a specification allows further properties', () => {
  const parts = [
    ...['ScorecardSpec', 'NumericFeature', 'CategoricalFeature', 'NumericBin', 'CategoricalBin'],
    ...['Scaling', 'RiskGrade'],
  ]
  for (const part of parts) {
    expect(schemas[part], part).toMatchObject({ additionalProperties: true })
  }
})

// Go's generator makes a function NewMember for a type Member, which a type NewMember hides.
test('no type has the name of another one with New before it', () => {
  const names = Object.keys(schemas)
  expect(names.length).toBeGreaterThan(100)
  expect(names.filter((name) => names.includes(`New${name}`))).toEqual([])
})
