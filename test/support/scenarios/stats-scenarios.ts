import type { Row } from './scenarios.ts'

const at = (slug: string, end: string) => `/v1/deployments/${slug}${end}`

/** As `SCENARIOS`, of what deployments have answered. */
export const STATS_SCENARIOS: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  'GET /v1/deployments/{slug}/stats': {
    '200': ['its stats', ({ team }, { slug }) => team.call('GET', at(slug, '/stats'))],
    '400 invalid_request': [
      'no number of scores',
      ({ team }, { slug }) => team.call('GET', at(slug, '/stats?recent=0')),
    ],
  },
  'GET /v1/deployments/{slug}/stats/series': {
    '200': [
      'the last day of it',
      ({ team }, { slug }) => team.call('GET', at(slug, '/stats/series')),
    ],
    '400 invalid_request': [
      'a stretch that ends before it begins',
      ({ team }, { slug }) =>
        team.call(
          'GET',
          at(slug, '/stats/series?to=2026-01-01T00:00:00Z&from=2026-01-02T00:00:00Z'),
        ),
    ],
  },
  'GET /v1/deployments/{slug}/stats/models': {
    '200': ['its models', ({ team }, { slug }) => team.call('GET', at(slug, '/stats/models'))],
    '400 invalid_request': [
      'a moment that is none',
      ({ team }, { slug }) => team.call('GET', at(slug, '/stats/models?from=now')),
    ],
  },
}
