import { audits, deploys } from '../api/roles.ts'
import type { Role } from '../api/types.ts'

interface Place {
  readonly to: string
  readonly name: string
  readonly isFor: (role: Role) => boolean
}

const anyone = () => true

/** The navigation: groups of pages, each for roles that may read it. */
export const PLACES: readonly { readonly group: string; readonly places: readonly Place[] }[] = [
  {
    group: 'Portfolio',
    places: [
      { to: '/', name: 'Overview', isFor: anyone },
      { to: '/models', name: 'Models', isFor: anyone },
    ],
  },
  {
    group: 'Decisions',
    places: [
      { to: '/scores', name: 'Scores', isFor: anyone },
      { to: '/batches', name: 'Batches', isFor: (role) => deploys(role) || audits(role) },
      { to: '/outcomes', name: 'Outcomes', isFor: anyone },
      { to: '/try', name: 'Try it', isFor: anyone },
    ],
  },
  {
    group: 'Assurance',
    places: [
      { to: '/audit', name: 'Audit log', isFor: audits },
      { to: '/access-review', name: 'Access review', isFor: audits },
      { to: '/proofs', name: 'Log and proofs', isFor: audits },
    ],
  },
  {
    group: 'Settings',
    places: [
      { to: '/keys', name: 'Keys', isFor: anyone },
      { to: '/service-accounts', name: 'Service accounts', isFor: audits },
      { to: '/members', name: 'Members', isFor: audits },
      { to: '/webhooks', name: 'Webhooks', isFor: audits },
    ],
  },
]
