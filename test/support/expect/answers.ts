import { FormatRegistry, type TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { LightMyRequestResponse } from 'fastify'
import { expect } from 'vitest'
import { ErrorBody } from '../../../schemas/errors.ts'

/** Why a request was not carried out; without the request id, which differs each time. */
interface Refusal {
  readonly status: number
  readonly error: string
  readonly message: string
  readonly details?: readonly RefusalDetail[]
}

interface RefusalDetail {
  readonly path: string
  readonly message: string
  readonly index?: number
  readonly id?: string | number | null
}

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
FormatRegistry.Set('date-time', (text) => TIMESTAMP.test(text))

const REQUEST_ID = /^req_[0-9A-Za-z]{16,}$/
/** Stack frames, files of the service, codes of its libraries, statements. */
const INTERNALS =
  /\bat [^"]+:\d+:\d+|node_modules|\/src\/|\.ts\b|FST_|Failed query|\b(?:select|insert into|update|delete from) "/

/** Reads a refusal, which must be the one error body, with nothing of the inside in it. */
export function formatRefusal(response: LightMyRequestResponse): Refusal {
  const body = formatJson(response)
  expect(response.statusCode).toBeGreaterThanOrEqual(400)
  expectConforming(ErrorBody, body)
  expect(response.body).not.toMatch(INTERNALS)
  const { request_id: _requestId, ...refusal } = body
  return { status: response.statusCode, ...refusal }
}

/** Status and error code, such as `401 unauthorized`; of a success the status alone. */
export function findOutcome(response: LightMyRequestResponse): string {
  if (response.statusCode < 400) return String(response.statusCode)
  const { status, error } = formatRefusal(response)
  return `${status} ${error}`
}

/** Reads a JSON answer, whose headers must name its type and its request. */
export function formatJson(response: LightMyRequestResponse) {
  expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
  expect(response.headers['x-request-id']).toMatch(REQUEST_ID)
  const body = response.json()
  if ('request_id' in body) expect(body.request_id).toBe(response.headers['x-request-id'])
  return body
}

/** Reads a success with all that its schema declares, and nothing else. */
export function expectSuccess(response: LightMyRequestResponse, schema: TSchema, status = 200) {
  const body = formatJson(response)
  expect(response.statusCode, response.body).toBe(status)
  expectConforming(schema, body)
  return body
}

/** A body must be what its schema declares, without a property more. */
export function expectConforming(schema: TSchema, body: unknown): void {
  const faults = [...Value.Errors(schema, body)].map(({ path, message }) => `${path} ${message}`)
  expect(faults).toEqual([])
  expect(undeclaredIn(schema, body, '')).toEqual([])
}

/** Properties that the schema allows only because it does not mention them. */
function undeclaredIn(schema: TSchema, value: unknown, path: string): string[] {
  if (Array.isArray(schema['anyOf'])) {
    const branch = schema['anyOf'].find((one: TSchema) => Value.Check(one, value))
    return undeclaredIn(branch, value, path)
  }
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => undeclaredIn(schema['items'], item, `${path}/${index}`))
  }
  const { properties } = schema
  if (typeof value !== 'object' || value === null || properties === undefined) return []
  return Object.entries(value).flatMap(([name, inner]) =>
    Object.hasOwn(properties, name)
      ? undeclaredIn(properties[name], inner, `${path}/${name}`)
      : [`${path}/${name} is not declared`],
  )
}
