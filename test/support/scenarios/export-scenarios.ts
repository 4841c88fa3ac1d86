import type { Row } from './scenarios.ts'

/** How each outcome of an export comes about. */
export const EXPORT_SCENARIOS: Readonly<
  Record<string, Readonly<Record<string, Row | readonly Row[]>>>
> = {
  'GET /v1/models/{id}/export': {
    '200': ['', '?format=pmml', '?format=sql&dialect=duckdb&table=applicants'].map(
      (query): Row => [
        `a model as ${query || 'it was sent'}`,
        ({ team }, { model }) => team.call('GET', `/v1/models/${model}/export${query}`),
      ],
    ),
    '400 invalid_request': [
      'SQL for no table',
      ({ team }, { model }) =>
        team.call('GET', `/v1/models/${model}/export?format=sql&dialect=duckdb`),
    ],
    '404 baseline_not_found': [
      'reasons against an unknown baseline',
      ({ team }, { model }) =>
        team.call('GET', `/v1/models/${model}/export?format=pmml&reason_baseline=rbl_0`),
    ],
    '422 not_exportable': [
      "a table that can't have its name",
      ({ team }, { model }) =>
        team.call('GET', `/v1/models/${model}/export?format=sql&dialect=duckdb&table=a..b`),
    ],
  },
}
