import Fastify, { LogController } from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { ANYONE } from '../../../src/http/access/caller.ts'
import { errorHandler } from '../../../src/http/error-handler.ts'
import { systemClock } from '../../../src/platform/clock.ts'
import { LogThrottle } from '../../../src/platform/log-throttle.ts'

/** What a driver could say of an applicant. */
const PERSONAL = 'duplicate key (email)=(jane@lender.example)'

// Nobody looks for a failure that is in no log, and a log that quotes rows is a second database.
test('an error that nobody expected is logged once with its place, and its answer is constant', async () => {
  const lines: string[] = []
  const stream = { write: (line: string) => void lines.push(line) }
  const logController = new LogController({ disableRequestLogging: true })
  const app = Fastify({ logController, logger: { stream } })
  onTestFinished(() => app.close())
  app.decorateRequest('span', null)
  app.setErrorHandler(errorHandler(new LogThrottle(systemClock)))
  const config = { operation: 'keys.list', access: ANYONE } as const
  app.get('/', { config }, () => {
    throw new TypeError(PERSONAL)
  })
  const answer = await app.inject({ url: '/' })
  const { request_id, ...body } = answer.json()
  expect([answer.statusCode, body]).toEqual([
    500,
    { error: 'internal_error', message: 'the service failed to handle this request' },
  ])
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    {
      level: 50,
      msg: 'request failed',
      requestId: request_id,
      operation: 'keys.list',
      code: 'internal_error',
      err: { name: 'TypeError', frames: expect.arrayContaining([expect.any(String)]) },
    },
  ])
  expect(lines.join() + answer.body).not.toContain('jane')
})
