import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { card, plainFeature } from '../../support/cards/cards.ts'
import { outcomeOf, refusalOf } from '../../support/expect/answers.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

const MIB = 1024 * 1024

// A body is refused before any database is asked: one of them is enough.
describe.each(backends.slice(-1))('on $name', (backend) => {
  let service: TestService
  let slug: string
  let key: string

  beforeAll(async () => {
    service = await TestService.start(backend)
    const owner = await service.signIn()
    slug = await service.deploy(owner, card([plainFeature('income')]))
    key = await service.createKey(owner)
  })
  afterAll(() => service.close())

  /** An applicant as each of the four forms of scoring takes it. */
  const forms = (applicant: string) => ({
    single: [`/v1/score/${slug}`, applicant],
    scorecard: ['/api/v1/score', `{"scorecard_id":"${slug}","applicant":${applicant}}`],
    batch: [`/v1/score/${slug}/batch`, `{"records":[${applicant}]}`],
    scorecardBatch: [
      '/api/v1/score/batch',
      `{"scorecard_id":"${slug}","applicants":[${applicant}]}`,
    ],
  })
  const send = ([url, body]: readonly string[]) =>
    service.call({ url: `${url}`, token: key, body: `${body}` })

  // Many names in one object take the event loop from everyone.
  test('a single applicant of more than 1 MiB is 413, in a batch it is scored', async () => {
    const { single, scorecard, batch, scorecardBatch } = forms(`{"income":1${' '.repeat(MIB)}}`)
    for (const form of [single, scorecard]) {
      expect(refusalOf(await send(form))).toMatchObject({
        status: 413,
        error: 'payload_too_large',
        message: 'the body is larger than the 1048576 bytes that it may have here',
      })
    }
    for (const form of [batch, scorecardBatch]) expect((await send(form)).statusCode).toBe(200)
    const fitting = `{"income":1${' '.repeat(MIB - 12)}}`
    expect((await send(forms(fitting).single)).statusCode).toBe(200)
  })

  test('an applicant nested deeper than 128 levels is 400, whatever way it takes', async () => {
    const nested = (levels: number) => `{"income":1,"x":${'['.repeat(levels)}${']'.repeat(levels)}}`
    for (const form of Object.values(forms(nested(128)))) {
      const response = await send(form)
      expect(outcomeOf(response)).toBe('400 invalid_request')
      expect(refusalOf(response).message).toBe('the body is nested deeper than 128 levels')
    }
    for (const form of Object.values(forms(nested(125)))) {
      expect((await send(form)).statusCode).toBe(200)
    }
  })
})
