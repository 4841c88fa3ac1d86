import { DocumentedOutcomes } from '../outcomes.ts'
import { EXAMPLE_IDS, EXAMPLE_REQUEST_ID } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

const DEFINITION = {
  label: 'Bad within 12 months',
  window_months: 12,
  bad_rule_text: '90 days past due, or written off',
  maturity_months: 12,
}

export const EXAMPLE_DEFINITION_ID = 'gb12'

/** An item of a file. */
const ITEM = {
  request_id: EXAMPLE_REQUEST_ID,
  kind: 'performance',
  definition: EXAMPLE_DEFINITION_ID,
  outcome: 'good',
  as_of: '2026-11-01',
}

const COUNTS = { accepted: 1, unchanged: 0, revised: 0, unmatched: 0, ambiguous: 0, invalid: 0 }

export const OUTCOME_DOCS = {
  'outcome_definitions.put': {
    tag: 'Outcomes',
    summary: 'Define what counts as good and bad',
    description:
      'Outcomes name a definition, and figures are over one definition. It can be changed until the first outcome refers to it; a new rule is then a new id. Audited.',
    params: { id: { description: 'Chosen by the team', example: EXAMPLE_DEFINITION_ID } },
    errors: ['definition_in_use'],
    request: { 'a definition': DEFINITION },
    success: {
      description: 'The definition',
      example: { id: EXAMPLE_DEFINITION_ID, ...DEFINITION },
    },
  },
  'outcome_definitions.list': {
    tag: 'Outcomes',
    summary: 'List the definitions of outcomes',
    description: 'All definitions of the team.',
    success: {
      description: 'The definitions',
      example: { outcome_definitions: [{ id: EXAMPLE_DEFINITION_ID, ...DEFINITION }] },
    },
  },
  'outcomes.send': {
    tag: 'Outcomes',
    summary: 'Send what became of applicants',
    description:
      'Up to 10,000 decisions and outcomes. Each is judged by itself: a wrong one changes nothing for the others. Outcomes are only added: another content for the same `as_of` revises, a later `as_of` is current, and an earlier one is kept. Sending the same again changes nothing. `outcome: "withdrawn"` with a `reason` takes back the outcome with the same `as_of`. An `as_of` or `decided_at` more than a day after now, and an `event_date` after its `as_of`, are `invalid`. An outcome may come before its score is in the log: it is held for 30 days and attached as soon as the score is there. A reference with several scores means the last one. A key attaches outcomes only to scores of its environment.',
    body: DocumentedOutcomes,
    errors: ['batch_too_large'],
    request: {
      'an outcome': {
        outcomes: [ITEM],
      },
    },
    success: {
      description: 'What became of each outcome',
      example: {
        results: [
          {
            index: 0,
            status: 'accepted',
            applicant: { request_id: EXAMPLE_REQUEST_ID, record_index: 0 },
            matched_of: 1,
          },
        ],
        counts: COUNTS,
      },
    },
  },
  'outcomes.import': {
    tag: 'Outcomes',
    summary: 'Send a file of outcomes',
    description:
      'The body is a file: NDJSON (`application/x-ndjson`) with an outcome in each line, or CSV (`text/csv`) whose header names the fields of an outcome, with `;` between several `policy_reasons`. It is on disk before the answer, and is worked off in the background, also after the service was killed. A file may be 64 times as large as a JSON body, 1 GiB by default. A cell contains no line break.',
    files: {
      'application/x-ndjson': `${JSON.stringify(ITEM)}\n`,
      'text/csv': `${Object.keys(ITEM).join()}\n${Object.values(ITEM).join()}\n`,
    },
    success: {
      description: 'The file is on disk',
      example: { id: EXAMPLE_IDS.import, status: 'running' },
    },
  },
  'outcomes.get_import': {
    tag: 'Outcomes',
    summary: 'Read the progress of a file of outcomes',
    description:
      'Counts and faulty lines so far, until 90 days after the end. `unmatched` outcomes are held for 30 days. If no process has had the file for a day, the import is `failed`.',
    params: {
      id: { description: '`id` of the answer to the file', example: EXAMPLE_IDS.import },
    },
    errors: ['import_not_found'],
    success: {
      description: 'The progress',
      example: {
        id: EXAMPLE_IDS.import,
        status: 'done',
        lines: 1,
        counts: COUNTS,
        errors: [],
      },
    },
  },
} as const satisfies Record<string, OperationDoc>
