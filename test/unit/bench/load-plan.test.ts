import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  makePlan,
  makeRequest,
  nameAnswer,
  readApplicants,
  readKeys,
  renew,
} from '../../../bench/lib/load-plan.ts'

const OPTIONS = {
  url: 'http://127.0.0.1:1',
  slug: 'dep_1',
  applicants: [{ a: 1 }, { a: 2 }, { a: 3 }],
  keySecrets: ['one', 'two'],
  batchRecords: null,
  hasIdempotencyKeys: true,
  hasReferences: true,
}

function makeFile(text: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'scoreline-load-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'file')
  writeFileSync(file, text)
  return file
}

test('applicants and keys are used in turn', () => {
  const plan = makePlan(OPTIONS)
  const requests = Array.from({ length: 6 }, (_, number) => makeRequest(plan, number))
  expect(requests.map(({ body }) => JSON.parse(body).a)).toEqual([1, 2, 3, 1, 2, 3])
  const keys = requests.map(({ headers }) => headers['authorization'])
  expect(keys.slice(0, 3)).toEqual(['Bearer one', 'Bearer two', 'Bearer one'])
})

// A key that was used before would give the first answer again, which costs the service less.
test('no two requests have the same idempotency key or reference, in this run or the next', () => {
  const plans = [makePlan(OPTIONS), renew(makePlan(OPTIONS))]
  const all = plans.flatMap((plan) =>
    Array.from({ length: 50 }, (_, number) => makeRequest(plan, number).headers),
  )
  for (const name of ['idempotency-key', 'x-reference-id']) {
    expect(new Set(all.map((headers) => headers[name])).size).toBe(100)
  }
})

test('a batch holds as many records as asked for, from the applicants in turn', () => {
  const plan = makePlan({ ...OPTIONS, batchRecords: 4, hasReferences: false })
  expect(plan.path).toBe('/v1/score/dep_1/batch')
  const { records } = JSON.parse(makeRequest(plan, 7).body)
  expect(records).toEqual([{ a: 1 }, { a: 2 }, { a: 3 }, { a: 1 }])
})

test('an answer is counted by its status, a refusal with its code', () => {
  expect(nameAnswer(200, '{"error":"x"}')).toBe('200')
  expect(nameAnswer(429, '{"error":"rate_limited","message":"…"}')).toBe('429 rate_limited')
  expect(nameAnswer(502, '<html>')).toBe('502')
})

test('applicants come from JSON and NDJSON, keys from lines', () => {
  const applicants = [{ a: 1 }, { a: 2 }]
  expect(readApplicants(makeFile(JSON.stringify(applicants)))).toEqual(applicants)
  expect(readApplicants(makeFile('{"a":1}\n{"a":2}\n'))).toEqual(applicants)
  expect(readKeys(makeFile(' one\n\ntwo\r\n'))).toEqual(['one', 'two'])
})

test.each(['', '[]', '[1]', 'a,b\n1,2\n'])('a file with %j is refused by a sentence', (text) => {
  expect(() => readApplicants(makeFile(text))).toThrow(/file (is neither|must hold)/)
})

test('a file that is not there is named', () => {
  expect(() => readKeys('/nowhere/keys')).toThrow("/nowhere/keys can't be read: ENOENT")
})
