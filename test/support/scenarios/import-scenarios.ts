import { IMPORTED } from './routes.ts'
import type { Row } from './scenarios.ts'

const STAGED = { environment: 'staging', auto_deploy: false }

/** How each outcome of an import comes about. */
export const IMPORT_SCENARIOS: Readonly<
  Record<string, Readonly<Record<string, readonly Row[] | Row>>>
> = {
  'POST /v1/models/import': {
    '200': [
      ['a card', ({ team }) => team.call('POST', '/v1/models/import', IMPORTED)],
      [
        'a card to register',
        ({ team }) => team.call('POST', '/v1/models/import', { ...IMPORTED, register: STAGED }),
      ],
      [
        'a card with faults',
        ({ team }) => team.call('POST', '/v1/models/import', { ...IMPORTED, scaling: {} }),
      ],
    ],
    '422 invalid_spec': [
      'a card with faults, to register',
      ({ team }) =>
        team.call('POST', '/v1/models/import', { ...IMPORTED, scaling: {}, register: STAGED }),
    ],
    '422 parity_failed': [
      'a card that gives another score, to register',
      ({ team }) =>
        team.call('POST', '/v1/models/import', {
          ...IMPORTED,
          sample: 'income,score\n1,2',
          register: STAGED,
        }),
    ],
  },
}
