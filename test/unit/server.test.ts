import { DrizzleQueryError } from 'drizzle-orm/errors'
import { expect, test } from 'vitest'
import { ConfigError } from '../../src/config.ts'
import { startFailureText } from '../../src/server.ts'

// The start writes the first owner: their address and hash are parameters of that statement.
test('a statement that fails at the start is reported by its cause, without its parameters', () => {
  const cause = new Error('could not extend file: No space left on device')
  const error = new DrizzleQueryError('insert into users …', ['jane@lender.example', 'hash'], cause)
  const text = startFailureText(error)
  expect(text).toMatch(/^a failed statement\ncaused by Error: could not extend file/)
  expect(text).not.toMatch(/jane|hash/)
})

test('a start that fails and then fails to close what it opened names the first failure', () => {
  const first = new ConfigError(['PORT must be a whole number'])
  const error = new SuppressedError(new Error('close failed'), first)
  expect(startFailureText(error)).toBe(first.message)
})

test('an unexpected failure is printed with its stack', () => {
  expect(startFailureText(new TypeError('x is not a function'))).toMatch(
    /^TypeError: x is not a function\n +at .*server\.test\.ts/,
  )
})
