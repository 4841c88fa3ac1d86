import { EXAMPLE_IDS, EXAMPLE_PASSWORD, EXAMPLE_TIME } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

const MEMBER_ID = { description: 'Id of a user', example: EXAMPLE_IDS.member } as const

const member = {
  id: EXAMPLE_IDS.member,
  email: 'modeler@lender.example',
  role: 'modeler',
  created_at: EXAMPLE_TIME,
  last_sign_in_at: null,
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
      "The member can sign in with this email and password at once. Callers can't grant a role higher than their own. A service account changes no members. While passwords are switched off, the identity provider adds members.",
    errors: ['member_exists', 'passwords_off'],
    request: {
      'A modeler': { email: 'modeler@lender.example', password: EXAMPLE_PASSWORD, role: 'modeler' },
    },
    success: { description: 'The member', example: member },
  },
  'members.update': {
    tag: 'Members',
    summary: 'Change the role of a member',
    description:
      "A refresh uses the new role at once; existing access tokens follow within a minute. Callers can't change or grant a role higher than their own. The last owner keeps the role.",
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
      "Their sessions end at once, their access tokens within a minute. Models and deployments that they created remain. The last owner can't be removed.",
    params: { id: MEMBER_ID },
    errors: ['member_not_found', 'last_owner'],
    success: { description: 'The member is removed' },
  },
} as const satisfies Record<string, OperationDoc>
