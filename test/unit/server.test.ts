import { DrizzleQueryError } from 'drizzle-orm/errors'
import { expect, test } from 'vitest'
import { startFailureText } from '../../src/server.ts'

// The first owner is written at the start: his address and hash are parameters of that statement.
test('a statement that fails at the start is told by its cause, without its parameters', () => {
  const cause = new Error('could not extend file: No space left on device')
  const error = new DrizzleQueryError('insert into users …', ['jane@lender.example', 'hash'], cause)
  const text = startFailureText(error)
  expect(text).toMatch(/^a failed statement\ncaused by Error: could not extend file/)
  expect(text).not.toMatch(/jane|hash/)
})

test('a failure that nobody foresaw is told with its place', () => {
  expect(startFailureText(new TypeError('x is not a function'))).toMatch(
    /^TypeError: x is not a function\n +at .*server\.test\.ts/,
  )
})
