import { EXAMPLE_IDS, EXAMPLE_TIME } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

export const AUDIT_LOG_DOCS = {
  'audit_log.list': {
    tag: 'Audit log',
    summary: 'List what was changed in the team',
    description:
      'One record for each management change, newest first: who did it, to what, the state before and after, and the reason where one was given. Records are never altered.',
    success: {
      description: 'The records',
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
            },
            reason: null,
            created_at: EXAMPLE_TIME,
          },
        ],
      },
    },
  },
} as const satisfies Record<string, OperationDoc>
