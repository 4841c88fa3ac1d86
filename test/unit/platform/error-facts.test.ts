import { expect, test } from 'vitest'
import { errorFacts } from '../../../src/platform/error-facts.ts'

// Messages of databases quote rows, and those of drizzle hold every parameter of a statement.
test('the log of an error holds its kind, code and source line, never its message', () => {
  const driver = Object.assign(new Error('duplicate key (email)=(jane@lender.example)'), {
    code: '23505',
    constraint_name: 'users_email',
  })
  const error = new Error('Failed query: insert … params: jane@lender.example', { cause: driver })
  const facts = errorFacts(error)
  expect(facts).toMatchObject({
    name: 'Error',
    cause: { code: '23505', constraint: 'users_email' },
  })
  expect(facts.frames?.[0]).toMatch(/^at .*error-facts\.test\.ts/)
  expect(JSON.stringify(facts)).not.toContain('jane')
})

test('a thrown value that is not an error is named by its type alone', () => {
  expect(errorFacts('jane')).toEqual({ name: 'string', frames: [] })
})
