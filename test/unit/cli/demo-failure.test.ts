import { expect, test } from 'vitest'
import { demoFailureText } from '../../../src/cli/demo/run.ts'
import { ConfigError } from '../../../src/config.ts'
import { AppError } from '../../../src/errors.ts'

// Its database is in this process: a busy computer lets its calls run out of time.
test('a demo without an answer of its database says so in a sentence, with what to do', () => {
  const silent = new AppError('unavailable', 'the database does not answer, try again later')
  const text =
    'The demo ended: the database does not answer, try again later. Perhaps this computer is too busy: end other programs, then run the demo again.'
  expect(demoFailureText(silent)).toBe(text)
  expect(demoFailureText(new SuppressedError(new Error('close failed'), silent))).toBe(text)
})

test('another failure of the demo is told as that of a start', () => {
  const failure = new ConfigError(['PORT must be a whole number'])
  expect(demoFailureText(failure)).toBe(failure.message)
})
