import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { isRepeatable, TAKES_IDEMPOTENCY_KEY } from '../../../../clients/typescript/src/calls.ts'
import { DocumentCheck } from '../../../support/expect/document-check.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { ROOT } from '../../../support/structure/documents.ts'

const run = promisify(execFile)
const TYPES = join(ROOT, 'clients/typescript/src/openapi.ts')
const GENERATOR = join(ROOT, 'test/client/node_modules/openapi-typescript/bin/cli.js')
// The document is the same on every database.
const [backend = expect.fail('there is a database')] = backends

const service = TestService.forSuite(backend)
let text: string

beforeAll(async () => {
  text = (await service.call({ method: 'GET', url: '/openapi.json' })).body
})

/** What the pinned generator makes of the document. */
async function freshTypes(): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'scoreline-types-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  writeFileSync(join(dir, 'openapi.json'), text)
  await run(process.execPath, [GENERATOR, 'openapi.json', '-o', 'openapi.ts'], { cwd: dir })
  return readFileSync(join(dir, 'openapi.ts'), 'utf8')
}

// Types of an older document let a caller send what the service refuses.
// UPDATE_CLIENT=1 writes them anew.
test('the types of the TypeScript client are those of the document', async () => {
  const fresh = await freshTypes()
  if (process.env['UPDATE_CLIENT'] !== undefined) writeFileSync(TYPES, fresh)
  expect(readFileSync(TYPES, 'utf8') === fresh, 'run this test with UPDATE_CLIENT=1').toBe(true)
})

// A key that is sent where it is ignored makes the client repeat what is then executed twice.
test('the client sends an idempotency key to the operations that take one, and to no other', () => {
  const taking = DocumentCheck.of(service.app, service.config.publicUrl)
    .operations.filter(({ operation }) =>
      ((operation['parameters'] ?? []) as { name: string }[]).some(
        ({ name }) => name === 'Idempotency-Key',
      ),
    )
    .map(({ method, path }) => `${method} ${path}`)
  expect([...TAKES_IDEMPOTENCY_KEY].sort()).toEqual(taking.sort())
})

test('the client repeats a POST without a key only where the document says nothing is lost', () => {
  const repeated = DocumentCheck.of(service.app, service.config.publicUrl)
    .operations.filter(({ method, path }) => method === 'POST' && isRepeatable('POST', path, false))
    .map(({ operation }) => operation['operationId'])
  expect(repeated.sort()).toEqual([
    'auth.login',
    'outcomes.send',
    'reasons.method_report',
    'scores.replay',
  ])
})
