import { EXAMPLE_IDS, EXAMPLE_TIME, SPEC_SHA256 } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

export const AUDIT_LOG_DOCS = {
  'audit_log.list': {
    tag: 'Audit log',
    summary: 'List the changes in the team',
    description:
      'One record for each operation that changes something, exports something or reads results of single applicants, newest first; without `kind`, changes alone. It names the user, the changed object, its state before and after, and the reason if one was given. With `Accept: text/csv` it is CSV, with the addresses of people beside their ids. Records never change.',
    success: {
      description: 'The records',
      texts: { 'text/csv': 'id,created_at,actor,actor_email,action,subject,subject_email,…' },
      example: {
        records: [
          {
            id: EXAMPLE_IDS.auditRecord,
            actor: EXAMPLE_IDS.user,
            action: 'model.deploy',
            subject: EXAMPLE_IDS.candidate,
            before: null,
            after: {
              name: 'Consumer loans',
              version: '2.0.0',
              environment: 'production',
              description: 'First card for consumer loans',
              spec_sha256: SPEC_SHA256,
            },
            reason: null,
            created_at: EXAMPLE_TIME,
          },
        ],
      },
    },
  },
  'audit_log.export': {
    tag: 'Audit log',
    summary: 'Export the audit log',
    description:
      "NDJSON, one record a line, oldest first. The record of the export itself comes last: the next export continues after it with `after`. The export is streamed; one that can't be read to its end breaks off.",
    success: {
      description: 'The records',
      example: `{"id":"${EXAMPLE_IDS.auditRecord}","actor":"${EXAMPLE_IDS.user}","action":"audit_log.export",…}`,
      mediaType: 'application/x-ndjson',
    },
  },
  'access_review.export': {
    tag: 'Audit log',
    summary: 'Export who has access',
    description:
      'CSV (UTF-8, RFC 4180) for a periodic review: one row for each member, service account and API key in force, with role or scopes, maker, end and last use. Texts that a spreadsheet would run as a formula begin with an apostrophe. The audit log records each export.',
    success: {
      description: 'The rows',
      example: 'kind,id,name,role,scopes,environment,allowed_addresses,created_by,…',
      mediaType: 'text/csv',
    },
  },
} as const satisfies Record<string, OperationDoc>
