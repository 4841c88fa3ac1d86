import { Validator } from '@seriousme/openapi-schema-validator'
import { beforeAll, expect, test } from 'vitest'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'

type Json = Readonly<Record<string, unknown>>

// The document is the same on every database.
const [backend = expect.fail('there is a database')] = backends
const service = TestService.forSuite(backend)
let document: Json & { paths: Json; components: { schemas: Json } }
let newer: typeof document

beforeAll(async () => {
  const get = async (url: string) => (await service.call({ method: 'GET', url })).json()
  document = await get('/openapi-3.0.json')
  newer = await get('/openapi.json')
})

test('the document in version 3.0 is valid', async () => {
  const validator = new Validator()
  const { valid, errors } = await validator.validate(structuredClone(document))
  expect(errors).toBeUndefined()
  expect(valid).toBe(true)
  expect(validator.version).toBe('3.0')
})

test('it has the operations, schemas and version of the document in 3.1', () => {
  const operations = ({ paths }: typeof document) =>
    Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item as Json).map((method) => `${method} ${path}`),
    )
  expect(operations(document)).toEqual(operations(newer))
  expect(Object.keys(document.components.schemas)).toEqual(Object.keys(newer.components.schemas))
  expect(document['info']).toEqual(newer['info'])
})

test('it has nothing that only 3.1 knows, and keeps what may be null', () => {
  const found: string[] = []
  let nullables = 0
  const look = (part: unknown, at: string) => {
    if (typeof part !== 'object' || part === null) return
    for (const [key, value] of Object.entries(part)) {
      const here = `${at}.${key}`
      if (key === 'example' || key === 'enum' || key === 'default') continue
      const isKeyword = !at.endsWith('.properties') && !at.endsWith('.examples')
      if (isKeyword && (key === 'const' || key === 'patternProperties')) found.push(here)
      if (isKeyword && key === 'type' && (value === 'null' || Array.isArray(value)))
        found.push(here)
      if (isKeyword && key === 'nullable') nullables++
      if (!at.includes('.examples.')) look(value, here)
    }
  }
  look(document, '')
  expect(found).toEqual([])
  expect(nullables).toBeGreaterThan(100)
})
