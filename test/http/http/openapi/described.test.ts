import { beforeAll, expect, test } from 'vitest'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'

type Json = Readonly<Record<string, unknown>>

/** The bodies that whoever connects a loan origination meets first. */
const FIRST_MET = [
  ...['ScoreRequest', 'ScoreBatchRequest', 'ScoreResult', 'ScoreBatchResult', 'ScoredRecord'],
  ...[
    'DeployedEndpoint',
    'ActiveChallenger',
    'ShadowScore',
    'ErrorBody',
    'ErrorDetail',
    'OutcomeItem',
    'LoggedScore',
    'LoggedFeature',
  ],
]
/** Said by the description of the whole body. */
const PLAIN = ['request_id', 'deployment_id', 'records', 'results', 'name']

// The document is the same on every database.
const [backend = expect.fail('there is a database')] = backends
const service = TestService.forSuite(backend)
let document: Json & { components: { schemas: Readonly<Record<string, Json>> }; paths: Json }

beforeAll(async () => {
  document = (await service.call({ method: 'GET', url: '/openapi.json' })).json()
})

const isDescribed = (schema: Json): boolean => {
  const name = /^#\/components\/schemas\/(\w+)$/.exec(String(schema['$ref']))?.[1]
  if (typeof schema['description'] === 'string') return true
  return name !== undefined && isDescribed(document.components.schemas[name] ?? {})
}

// A field without a word is one that each integrator asks about, or guesses.
test.each(FIRST_MET)('every field of %s is described', (name) => {
  const { properties } = (document.components.schemas[name] ?? expect.fail(name)) as {
    properties: Readonly<Record<string, Json>>
  }
  const silent = Object.entries(properties).filter(
    ([field, schema]) => !isDescribed(schema) && !PLAIN.includes(field),
  )
  expect(silent.map(([field]) => field)).toEqual([])
})

test('a file that an operation takes is a body of the document, with its types and examples', () => {
  const paths = document.paths as Readonly<Record<string, Readonly<Record<string, Json>>>>
  expect(paths['/v1/outcomes/imports']?.['post']?.['requestBody']).toEqual({
    required: true,
    content: {
      'application/x-ndjson': {
        schema: { type: 'string', format: 'binary' },
        example: expect.stringMatching(/^\{"request_id":".*\}\n$/),
      },
      'text/csv': {
        schema: { type: 'string', format: 'binary' },
        example: expect.stringMatching(/^request_id,.*\nreq_.*\n$/),
      },
    },
  })
})

test('the tokens of service accounts and the end of keys are in the security schemes', () => {
  const { accessToken, apiKey } = (document.components as unknown as { securitySchemes: Json })
    .securitySchemes as Readonly<Record<string, { description: string }>>
  expect(accessToken?.description).toMatch(/service account/)
  expect(apiKey?.description).toMatch(/expires_at/)
})
