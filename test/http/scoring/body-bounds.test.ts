import { beforeAll, describe, expect, test } from 'vitest'
import { card, plainFeature } from '../../support/cards/cards.ts'
import { findOutcome, formatRefusal } from '../../support/expect/answers.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

const MIB = 1024 * 1024

// A body is refused before any database is asked: one of them is enough.
describe.each(backends.slice(-1))('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  let slug: string
  let key: string

  beforeAll(async () => {
    const owner = await service.signIn()
    slug = await service.deploy(owner, card([plainFeature('income')]))
    key = await service.createKey(owner)
  })

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
      expect(formatRefusal(await send(form))).toMatchObject({
        status: 413,
        error: 'payload_too_large',
        message: 'the body is larger than the 1048576 bytes that it may have here',
      })
    }
    for (const form of [batch, scorecardBatch]) expect((await send(form)).statusCode).toBe(200)
    const fitting = `{"income":1${' '.repeat(MIB - 12)}}`
    expect((await send(forms(fitting).single)).statusCode).toBe(200)
  })

  // They would take the thread that answers from other teams, as often as the quota allows.
  test('an applicant with more than 10,000 names that are no features is 400, and costs little', async () => {
    const named = (count: number) => {
      const names = Array.from({ length: count }, (_, index) => `"n${index}":1`)
      return `{"income":1,${names.join(',')}}`
    }
    for (const form of Object.values(forms(named(10_000)))) {
      expect((await send(form)).statusCode).toBe(200)
    }
    for (const [name, form] of Object.entries(forms(named(10_001)))) {
      const response = await send(form)
      expect(findOutcome(response)).toBe('400 invalid_request')
      const places = { single: 'the applicant', scorecard: 'applicant', batch: 'records[0]' }
      const place = { ...places, scorecardBatch: 'applicants[0]' }[name]
      expect(formatRefusal(response).message).toBe(
        `${place} has 10001 names that are no features: send at most 10000`,
      )
    }
  })

  // To find out how many names are no features takes longer than the quota can pay for.
  test('a single applicant with an object of more than 25,000 names is 400 before it is parsed', async () => {
    const names = (count: number) =>
      `{${Array.from({ length: count }, (_, index) => `"${index.toString(16)}":1`).join(',')}}`
    for (const applicant of [names(25_001), `{"income":1,"x":${names(25_001)}}`]) {
      const { single, scorecard } = forms(applicant)
      for (const form of [single, scorecard]) {
        const response = await send(form)
        expect(findOutcome(response)).toBe('400 invalid_request')
        expect(formatRefusal(response).message).toBe(
          'the body has an object of more than 25000 names',
        )
      }
    }
    for (const form of Object.values(forms(`{"income":1,"x":${names(25_000)}}`))) {
      expect((await send(form)).statusCode).toBe(200)
    }
    const repeated = `{"income":1${',"income":1'.repeat(25_000)}}`
    expect(findOutcome(await send(forms(repeated).single))).toBe('400 invalid_request')
  })

  test('an applicant nested deeper than 128 levels is 400, whatever way it takes', async () => {
    const nested = (levels: number) => `{"income":1,"x":${'['.repeat(levels)}${']'.repeat(levels)}}`
    for (const form of Object.values(forms(nested(128)))) {
      const response = await send(form)
      expect(findOutcome(response)).toBe('400 invalid_request')
      expect(formatRefusal(response).message).toBe('the body is nested deeper than 128 levels')
    }
    for (const form of Object.values(forms(nested(125)))) {
      expect((await send(form)).statusCode).toBe(200)
    }
  })
})
