import { Type } from '@sinclair/typebox'
import type { RouteOptions } from 'fastify'
import { expect, test } from 'vitest'
import { errorResponses } from '../../../../schemas/errors.ts'
import { ANYONE, OWNER_OR_ADMIN } from '../../../../src/http/access/caller.ts'
import { extractSchemas } from '../../../../src/http/openapi/components.ts'
import { findOperation } from '../../../../src/http/openapi/operation.ts'

interface Schema {
  readonly format?: string
}

const IdParams = Type.Object({ id: Type.String() })

/** A route as it stands in the service, but for what a test changes. */
function route(change: Partial<RouteOptions>): RouteOptions {
  return {
    method: 'DELETE',
    url: '/v1/keys/:id',
    schema: { params: IdParams, response: { 204: Type.Null(), ...errorResponses(401, 403, 404) } },
    config: { operation: 'keys.revoke', access: OWNER_OR_ADMIN },
    handler: () => undefined,
    ...change,
  }
}

test('a route lists its codes by status, including those of access and quota', () => {
  const { id, schema, facts } = findOperation(route({}))
  expect(id).toBe('keys.revoke')
  expect(Object.fromEntries(facts.codesByStatus)).toEqual({
    401: ['unauthorized'],
    403: ['insufficient_role'],
    404: ['key_not_found'],
    429: ['rate_limited'],
    500: ['internal_error'],
    503: ['unavailable'],
  })
  expect(schema.security).toEqual([{ accessToken: [] }])
})

// Whoever adds a route sees at once what its documentation lacks.
test('a route without a name, an entry or a caller is refused', () => {
  const unnamed = route({ config: { access: ANYONE } })
  expect(() => findOperation(unnamed)).toThrow('/v1/keys/:id is not documented')
  const unknown = route({ config: { operation: 'docs.none', access: ANYONE } })
  expect(() => findOperation(unknown)).toThrow('is not documented')
  const unguarded = route({ config: { operation: 'keys.revoke' } })
  expect(() => findOperation(unguarded)).toThrow('is not documented')
})

test('a status without a documented code is refused, and a code without its status', () => {
  const more = { 204: Type.Null(), ...errorResponses(401, 403, 404, 409) }
  expect(() => findOperation(route({ schema: { params: IdParams, response: more } }))).toThrow(
    'keys.revoke declares status 409, but documents no code for it',
  )
  const fewer = { 204: Type.Null(), ...errorResponses(401, 403) }
  expect(() => findOperation(route({ schema: { params: IdParams, response: fewer } }))).toThrow(
    'keys.revoke documents key_not_found, but its route declares no such status',
  )
})

test('a parameter of the path without its documentation is refused', () => {
  const params = Type.Object({ id: Type.String(), version: Type.String() })
  const { response } = route({}).schema as { response: object }
  expect(() => findOperation(route({ schema: { params, response } }))).toThrow(
    'the path has the parameters id,version, but id are documented',
  )
})

// A probe answers 503 with its report, and metrics are no JSON.
test('a response with its own body has its own description', () => {
  const Report = Type.Object({ status: Type.String() })
  const { response } = route({}).schema as { response: object }
  const other = route({ schema: { params: IdParams, response: { ...response, 503: Report } } })
  expect(() => findOperation(other)).toThrow('keys.revoke does not document its response 503')
})

// One of the two would silently stand for both.
test('two schemas of one name are refused', () => {
  const text = { title: 'Same', type: 'string' }
  expect(() =>
    extractSchemas([text, { ...text, description: 'a parameter' }], new Map()),
  ).not.toThrow()
  expect(() => extractSchemas([text, { ...text, minLength: 1 }], new Map())).toThrow(
    'two different schemas have the name Same',
  )
})

test('a union is written as one schema if that means the same, and otherwise stays', () => {
  const literal = (value: string) => ({ const: value, type: 'string' })
  const [text, nothing] = [{ type: 'string' }, { type: 'null' }]
  const plain = (anyOf: object[]) => extractSchemas({ anyOf, description: 'x' }, new Map())
  expect(plain([literal('a'), literal('b')])).toEqual({
    type: 'string',
    enum: ['a', 'b'],
    description: 'x',
  })
  expect(plain([text, { type: 'number' }, nothing])).toEqual({
    type: ['string', 'number', 'null'],
    description: 'x',
  })
  expect(plain([{ ...text, minLength: 1 }, nothing])).toEqual({
    type: ['string', 'null'],
    minLength: 1,
    description: 'x',
  })
  // A constant or an enum would no longer let null in, and limits of one type would look like those
  // of both.
  const kept = [
    [literal('a'), nothing],
    [{ ...text, enum: ['a'] }, nothing],
    [{ type: 'object', properties: {} }, nothing],
    [{ $ref: '#/components/schemas/Environment' }, nothing],
  ]
  for (const anyOf of kept) expect(plain(anyOf)).toEqual({ anyOf, description: 'x' })
  const oneOf = [
    { ...text, minLength: 1 },
    { type: 'number', format: 'double', minimum: 1 },
  ]
  expect(plain(oneOf)).toEqual({ oneOf, description: 'x' })
})

// Without it a client in Go or Rust reads a score as a float32, and one in Java a count as an int.
test('a number states its width: a double, 32 bits if its maximum fits, else 64', () => {
  const readFormat = (schema: object) => (extractSchemas(schema, new Map()) as Schema).format
  expect(readFormat({ type: 'number' })).toBe('double')
  expect(readFormat({ type: ['number', 'null'] })).toBe('double')
  expect(readFormat({ type: 'integer' })).toBe('int64')
  expect(readFormat({ type: 'integer', maximum: 2 ** 31 - 1 })).toBe('int32')
  expect(readFormat({ type: 'integer', maximum: 2 ** 31 })).toBe('int64')
  expect(readFormat({ type: 'number', format: 'float' })).toBe('float')
  expect(readFormat({ type: ['string', 'number'] })).toBeUndefined()
})

test('the content of an example is data, whatever its properties are called', () => {
  const example = { title: 'Not a name', type: 'numeric', anyOf: [{ const: 'a' }, { const: 'b' }] }
  expect(extractSchemas({ example }, new Map())).toEqual({ example })
  const properties = { example: { anyOf: [{ type: 'string' }, { type: 'null' }] } }
  expect(extractSchemas({ properties }, new Map())).toEqual({
    properties: { example: { type: ['string', 'null'] } },
  })
})
