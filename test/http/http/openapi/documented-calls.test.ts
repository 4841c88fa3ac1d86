import { beforeAll, expect, test } from 'vitest'
import { DocumentCheck, type DocumentedOperation } from '../../../support/expect/document-check.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import {
  codeIn,
  formatProse,
  listBlocks,
  PAGES,
  readText,
} from '../../../support/structure/documents.ts'

/** A call of the API that a page shows. */
interface Call {
  readonly page: string
  readonly method: string
  readonly path: string
  readonly query: readonly string[]
  /** The JSON below it; null without one, or where it is cut short. */
  readonly body: object | null
}

/** Pages for people and for operators, which are not in the document. */
const OTHERS = /^\/(openapi(-3\.0)?\.json|docs|livez|readyz|metrics|console|hooks?)?(\/|$)/
const START = /^(GET|POST|PUT|PATCH|DELETE) (\/\S*)$/

// The document is the same on every database.
const [backend = expect.fail('there is a database')] = backends
const service = TestService.forSuite(backend)
let check: DocumentCheck

beforeAll(async () => {
  await service.app.ready()
  check = DocumentCheck.of(service.app, service.config.publicUrl)
})

function formatCall(page: string, line: string, below = ''): Call[] {
  const [, method = '', url = ''] = START.exec(line.trim()) ?? []
  if (method === '') return []
  const [path = '', query = ''] = url.split('?')
  if (OTHERS.test(path)) return []
  const names = query.split('&').flatMap((one) => one.split('=')[0] || [])
  return [{ page, method, path, query: names, body: bodyIn(below) }]
}

function bodyIn(text: string): object | null {
  try {
    return JSON.parse(text)
  } catch {
    // Many pages show only a part of a body.
    return null
  }
}

/** Calls in code within sentences and tables, and at the start of lines of blocks. */
const calls = PAGES.flatMap((page) => [
  ...codeIn(formatProse(page)).flatMap((code) => formatCall(page, code)),
  ...listBlocks(readText(page), 'text').flatMap((block) =>
    block
      .split(/^(?=(?:GET|POST|PUT|PATCH|DELETE) \/)/m)
      .flatMap((part) =>
        formatCall(page, part.split('\n')[0] ?? '', part.slice(part.indexOf('\n'))),
      ),
  ),
])

function findOperation({ method, path }: Call): DocumentedOperation | undefined {
  const steps = path.split('/')
  const fits = (one: DocumentedOperation) => {
    const own = one.path.split('/')
    if (one.method !== method || own.length !== steps.length) return false
    return own.every((step, i) => step.startsWith('{') || step === steps[i])
  }
  const found = check.operations.filter(fits)
  return found.find(({ path: own }) => !own.includes('{')) ?? found[0]
}

const shown = ({ page, method, path }: Call) => `${page}: ${method} ${path}`

// A call that is gone, or has another name, costs a reader an hour and their trust.
test('every call that a page shows is an operation of the service', () => {
  expect(calls.length).toBeGreaterThan(150)
  expect(calls.filter((call) => findOperation(call) === undefined).map(shown)).toEqual([])
})

test('every parameter in a query that a page shows is one of its operation', () => {
  const unknown = calls.flatMap((call) => {
    const parameters = findOperation(call)?.operation['parameters'] ?? []
    const names = (parameters as { name: string }[]).map(({ name }) => name)
    const strange = call.query.filter((name) => !names.includes(name))
    return strange.map((name) => `${shown(call)} ${name}`)
  })
  expect(calls.filter(({ query }) => query.length > 0).length).toBeGreaterThan(20)
  expect(unknown).toEqual([])
})

test('every whole body that a page shows is one that its operation takes', () => {
  const bodies = calls.filter(({ body }) => body !== null)
  const wrong = bodies.flatMap((call) => {
    const { path, method } = findOperation(call) ?? expect.fail(shown(call))
    const place = ['paths', path, method.toLowerCase(), 'requestBody', 'content']
    const validate = check.validator([...place, 'application/json', 'schema'])
    return validate(call.body) ? [] : [`${shown(call)} ${JSON.stringify(validate.errors)}`]
  })
  expect(bodies.length).toBeGreaterThan(20)
  expect(wrong).toEqual([])
})

// A page for people who copy calls must be checked whole: nothing in it may be cut short.
test('each body in the life of a model is whole, and each that a call needs is there', () => {
  const its = calls.filter(({ page }) => page === 'docs/model-life.md')
  expect(its.length).toBeGreaterThan(40)
  const lacking = its.filter((call) => {
    const needs = findOperation(call)?.operation['requestBody'] as
      | Record<string, unknown>
      | undefined
    const content = needs?.['content'] as object | undefined
    return call.body === null && content !== undefined && 'application/json' in content
  })
  expect(lacking.map(shown)).toEqual([])
})

test('a call that is not there is found', () => {
  const [call = expect.fail()] = formatCall('a page', 'POST /v1/scores/{request_id}/undo')
  expect(findOperation(call)).toBeUndefined()
  expect(formatCall('a page', 'GET /openapi.json')).toEqual([])
})
