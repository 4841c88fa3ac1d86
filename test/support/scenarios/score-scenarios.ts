import { UNKNOWN } from './routes.ts'
import type { Row } from './scenarios.ts'

/** As `SCENARIOS`, of scores that are read back. */
export const SCORE_SCENARIOS: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  'GET /v1/scores': {
    '200': [
      'a reference that nothing has',
      ({ team }) => team.call('GET', '/v1/scores?reference=A-1'),
    ],
    '404 deployment_not_found': [
      'an unknown deployment',
      ({ team }) => team.call('GET', `/v1/scores?reference=A-1&deployment=${UNKNOWN.slug}`),
    ],
  },
  'GET /v1/scores/{request_id}': {
    '200': [
      'a score',
      async ({ team }, { slug }) => {
        const { request_id } = await team.score(slug, {})
        return team.call('GET', `/v1/scores/${request_id}`)
      },
    ],
    '400 invalid_request': [
      'a page of no records',
      ({ team }) => team.call('GET', `/v1/scores/${UNKNOWN.request_id}?limit=0`),
    ],
  },
  'POST /v1/log/erasures': {
    '200': [
      'a reference that nothing has',
      ({ team }) => team.call('POST', '/v1/log/erasures', { reference: 'A-1' }),
    ],
  },
  'GET /v1/log/export': {
    '200': ['an owner asks', ({ team }) => team.call('GET', '/v1/log/export')],
    '404 deployment_not_found': [
      'an unknown deployment',
      ({ team }) => team.call('GET', `/v1/log/export?deployment=${UNKNOWN.slug}`),
    ],
  },
}
