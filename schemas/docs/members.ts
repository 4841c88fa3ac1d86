import { EXAMPLE_IDS, EXAMPLE_PASSWORD, EXAMPLE_TIME } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

const MEMBER_ID = { description: 'Id of a user', example: EXAMPLE_IDS.member } as const

const member = {
  id: EXAMPLE_IDS.member,
  email: 'modeler@lender.example',
  role: 'modeler',
  created_at: EXAMPLE_TIME,
} as const

export const MEMBER_DOCS = {
  'members.list': {
    tag: 'Members',
    summary: 'List the members of the team',
    description: 'All members, newest first.',
    success: { description: 'The members', example: { members: [member] } },
  },
  'members.create': {
    tag: 'Members',
    summary: 'Add a member',
    description:
      'Who signs in with this email and password from now on. Nobody grants a higher role than he has.',
    errors: ['member_exists'],
    request: {
      'A modeler': { email: 'modeler@lender.example', password: EXAMPLE_PASSWORD, role: 'modeler' },
    },
    success: { description: 'The member', example: member },
  },
  'members.update': {
    tag: 'Members',
    summary: 'Change the role of a member',
    description:
      'The new role counts at once for refreshing, and within a minute for access tokens. Nobody changes a higher role than he has or grants one; the last owner stays.',
    params: { id: MEMBER_ID },
    errors: ['member_not_found', 'last_owner'],
    request: { Promote: { role: 'lead_modeler' } },
    success: {
      description: 'The member as it is now',
      example: { ...member, role: 'lead_modeler' },
    },
  },
  'members.delete': {
    tag: 'Members',
    summary: 'Remove a member',
    description:
      'His sessions end at once, his access tokens within a minute. What he deployed stays; the last owner stays too.',
    params: { id: MEMBER_ID },
    errors: ['member_not_found', 'last_owner'],
    success: { description: 'The member is removed' },
  },
} as const satisfies Record<string, OperationDoc>
