import { EXAMPLE_IDS, EXAMPLE_TIME } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

export const AUDIT_LOG_DOCS = {
  'audit_log.list': {
    tag: 'Audit log',
    summary: 'List the changes in the team',
    description:
      'One record per management change, newest first. It names the user, the changed object, its state before and after, and the reason if one was given. Records never change.',
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
